package main

import (
	"context"
	"errors"
	"time"

	"github.com/IBM/sarama"
)

// sarama, at the protocol version that it takes by default.
type saramaClient struct {
	address []string
	client  sarama.Client
	admin   sarama.ClusterAdmin
}

var saramaCodecs = map[string]sarama.CompressionCodec{
	"none":   sarama.CompressionNone,
	"gzip":   sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy,
	"lz4":    sarama.CompressionLZ4,
	"zstd":   sarama.CompressionZSTD,
}

func newSarama(address string) (Client, error) {
	client, err := sarama.NewClient([]string{address}, sarama.NewConfig())
	if err != nil {
		return nil, err
	}
	admin, err := sarama.NewClusterAdmin([]string{address}, sarama.NewConfig())
	if err != nil {
		return nil, err
	}
	return &saramaClient{[]string{address}, client, admin}, nil
}

func (s *saramaClient) Code(err error) int16 { return saramaCode(err) }

func saramaCode(err error) int16 {
	var known sarama.KError
	if errors.As(err, &known) {
		return int16(known)
	}
	return 0
}

func (s *saramaClient) Produce(_ context.Context, topic, codec string, records []Record) ([]int64, error) {
	config := sarama.NewConfig()
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Compression = saramaCodecs[codec]
	config.Producer.Return.Successes = true
	producer, err := sarama.NewSyncProducer(s.address, config)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	var sent []*sarama.ProducerMessage
	for _, record := range records {
		one := &sarama.ProducerMessage{
			Topic: topic, Partition: record.Partition, Timestamp: time.UnixMilli(record.Timestamp),
			Key: saramaBytes(record.Key), Value: saramaBytes(record.Value),
		}
		for _, header := range record.Headers {
			one.Headers = append(one.Headers, sarama.RecordHeader{Key: []byte(header.Key), Value: header.Value})
		}
		sent = append(sent, one)
	}
	if err := producer.SendMessages(sent); err != nil {
		return nil, err
	}
	var offsets []int64
	for _, one := range sent {
		offsets = append(offsets, one.Offset)
	}
	return offsets, nil
}

// Null is an encoder that is not there.
func saramaBytes(bytes []byte) sarama.Encoder {
	if bytes == nil {
		return nil
	}
	return sarama.ByteEncoder(bytes)
}

func (s *saramaClient) Read(
	ctx context.Context, topic string, partition int32, offset int64, count int,
) ([]Record, error) {
	consumer, err := sarama.NewConsumer(s.address, sarama.NewConfig())
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	reading, err := consumer.ConsumePartition(topic, partition, offset)
	if err != nil {
		return nil, err
	}
	defer reading.Close()
	var read []Record
	for len(read) < count {
		select {
		case one := <-reading.Messages():
			read = append(read, fromSarama(one))
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return read, nil
}

func fromSarama(one *sarama.ConsumerMessage) Record {
	record := Record{
		Partition: one.Partition, Offset: one.Offset, Timestamp: one.Timestamp.UnixMilli(),
		Key: one.Key, Value: one.Value,
	}
	for _, header := range one.Headers {
		record.Headers = append(record.Headers, Header{string(header.Key), header.Value})
	}
	return record
}

func (s *saramaClient) CreateTopic(_ context.Context, topic string, partitions int32, configs map[string]string) error {
	detail := &sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: 1, ConfigEntries: map[string]*string{}}
	for key, value := range configs {
		detail.ConfigEntries[key] = &value
	}
	return s.admin.CreateTopic(topic, detail, false)
}

func (s *saramaClient) DeleteTopic(_ context.Context, topic string) error {
	return s.admin.DeleteTopic(topic)
}

func (s *saramaClient) DescribeTopic(_ context.Context, topic string) (Topic, error) {
	described, err := s.admin.DescribeTopics([]string{topic})
	if err != nil {
		return Topic{}, err
	}
	if described[0].Err != sarama.ErrNoError {
		return Topic{}, described[0].Err
	}
	entries, err := s.admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: topic})
	if err != nil {
		return Topic{}, err
	}
	configs := map[string]string{}
	for _, entry := range entries {
		if entry.Source == sarama.SourceTopic {
			configs[entry.Name] = entry.Value
		}
	}
	return Topic{len(described[0].Partitions), configs}, nil
}

func (s *saramaClient) OffsetAt(_ context.Context, topic string, partition int32, timestamp int64) (int64, error) {
	return s.client.GetOffset(topic, partition, timestamp)
}
