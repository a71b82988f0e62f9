package main

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// franz-go, with its defaults but for what a request asks: idempotent, fetch sessions, the newest version of each API.
type franz struct {
	address string
	admin   *kadm.Client
}

var franzCodecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

var franzProtocols = map[string][]kgo.GroupOpt{
	"eager":       {kgo.Balancers(kgo.RangeBalancer())},
	"cooperative": {kgo.Balancers(kgo.CooperativeStickyBalancer())},
	"consumer":    {kgo.Balancers(kgo.StickyBalancer()), kgo.ServerSideBalancer()},
}

func newFranz(address string) (Client, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		return nil, err
	}
	return &franz{address, kadm.NewClient(client)}, nil
}

func (f *franz) Code(err error) int16 { return franzCode(err) }

func franzCode(err error) int16 {
	var known *kerr.Error
	if errors.As(err, &known) {
		return known.Code
	}
	return 0
}

func (f *franz) Produce(ctx context.Context, topic, codec string, records []Record) ([]int64, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(f.address),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(franzCodecs[codec]),
		kgo.ProducerBatchMaxBytes(1<<20),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var sent []*kgo.Record
	for _, record := range records {
		one := &kgo.Record{
			Topic: topic, Partition: record.Partition, Key: record.Key, Value: record.Value,
			Timestamp: time.UnixMilli(record.Timestamp),
		}
		for _, header := range record.Headers {
			one.Headers = append(one.Headers, kgo.RecordHeader{Key: header.Key, Value: header.Value})
		}
		sent = append(sent, one)
	}
	if err := client.ProduceSync(ctx, sent...).FirstErr(); err != nil {
		return nil, err
	}
	var offsets []int64
	for _, one := range sent {
		offsets = append(offsets, one.Offset)
	}
	return offsets, nil
}

func (f *franz) Read(ctx context.Context, topic string, partition int32, offset int64, count int) ([]Record, error) {
	start := map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().At(offset)}}
	client, err := kgo.NewClient(kgo.SeedBrokers(f.address), kgo.ConsumePartitions(start))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var read []Record
	for len(read) < count {
		fetches := client.PollRecords(ctx, count-len(read))
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		fetches.EachRecord(func(one *kgo.Record) { read = append(read, fromFranz(one)) })
	}
	return read, nil
}

func fromFranz(one *kgo.Record) Record {
	record := Record{
		Partition: one.Partition, Offset: one.Offset, Timestamp: one.Timestamp.UnixMilli(),
		Key: one.Key, Value: one.Value,
	}
	for _, header := range one.Headers {
		record.Headers = append(record.Headers, Header{header.Key, header.Value})
	}
	return record
}

func (f *franz) CreateTopic(ctx context.Context, topic string, partitions int32, configs map[string]string) error {
	wanted := map[string]*string{}
	for key, value := range configs {
		wanted[key] = kadm.StringPtr(value)
	}
	created, err := f.admin.CreateTopic(ctx, partitions, 1, wanted, topic)
	if err != nil {
		return err
	}
	return created.Err
}

func (f *franz) DeleteTopic(ctx context.Context, topic string) error {
	deleted, err := f.admin.DeleteTopic(ctx, topic)
	if err != nil {
		return err
	}
	return deleted.Err
}

func (f *franz) DescribeTopic(ctx context.Context, topic string) (Topic, error) {
	listed, err := f.admin.ListTopics(ctx, topic)
	if err != nil {
		return Topic{}, err
	}
	if err := listed[topic].Err; err != nil {
		return Topic{}, err
	}
	described, err := f.admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return Topic{}, err
	}
	resource, err := described.On(topic, nil)
	if err != nil {
		return Topic{}, err
	}
	configs := map[string]string{}
	for _, config := range resource.Configs {
		if config.Source.String() == "DYNAMIC_TOPIC_CONFIG" {
			configs[config.Key] = config.MaybeValue()
		}
	}
	return Topic{len(listed[topic].Partitions), configs}, resource.Err
}

func (f *franz) OffsetAt(ctx context.Context, topic string, partition int32, timestamp int64) (int64, error) {
	ask := func() (kadm.ListedOffsets, error) { return f.admin.ListOffsetsAfterMilli(ctx, timestamp, topic) }
	switch timestamp {
	case latest:
		ask = func() (kadm.ListedOffsets, error) { return f.admin.ListEndOffsets(ctx, topic) }
	case earliest:
		ask = func() (kadm.ListedOffsets, error) { return f.admin.ListStartOffsets(ctx, topic) }
	}
	listed, err := ask()
	if err != nil {
		return 0, err
	}
	found, _ := listed.Lookup(topic, partition)
	return found.Offset, found.Err
}
