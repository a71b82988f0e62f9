// The codecs that kafkajs leaves to others, each from a package that nothing must be compiled for.
'use strict'

const { CompressionCodecs, CompressionTypes } = require('kafkajs')
const snappy = require('kafkajs-snappy')
const lz4 = require('lz4-napi')
const zstd = require('@bokuweb/zstd-wasm')

exports.TYPES = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}

exports.register = async () => {
  await zstd.init()
  CompressionCodecs[CompressionTypes.Snappy] = snappy
  CompressionCodecs[CompressionTypes.LZ4] = () => ({
    compress: encoder => lz4.compressFrame(encoder.buffer),
    decompress: buffer => lz4.decompressFrame(buffer),
  })
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: async encoder => Buffer.from(zstd.compress(encoder.buffer)),
    decompress: async buffer => Buffer.from(zstd.decompress(buffer)),
  })
}
