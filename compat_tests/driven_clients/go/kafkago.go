package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

// segmentio's kafka-go: Writer and Reader, Conn for offsets, Client for the rest.
type kafkaGo struct {
	address string
	client  *kafka.Client
}

var kafkaGoCodecs = map[string]kafka.Compression{
	"none":   0,
	"gzip":   kafka.Gzip,
	"snappy": kafka.Snappy,
	"lz4":    kafka.Lz4,
	"zstd":   kafka.Zstd,
}

// What a topic was configured with itself, in the protocol's numbers, which kafka-go leaves as they are.
const kafkaGoTopicConfig = 1

const kafkaGoReadBytesMax = 8 << 20

func newKafkaGo(address string) (Client, error) {
	client := &kafka.Client{Addr: kafka.TCP(address), Transport: &kafka.Transport{}, Timeout: patience}
	return &kafkaGo{address, client}, nil
}

func (k *kafkaGo) Code(err error) int16 { return kafkaGoCode(err) }

func kafkaGoCode(err error) int16 {
	var known kafka.Error
	if errors.As(err, &known) {
		return int16(known)
	}
	return 0
}

// Where a message goes, and which one it is; kafka-go carries it along.
type kafkaGoPlace struct{ partition, index int }

func (k *kafkaGo) Produce(ctx context.Context, topic, codec string, records []Record) ([]int64, error) {
	offsets := make([]int64, len(records))
	var told sync.WaitGroup
	told.Add(len(records))
	writer := &kafka.Writer{
		Addr: kafka.TCP(k.address), Topic: topic, RequiredAcks: kafka.RequireAll, Compression: kafkaGoCodecs[codec],
		BatchTimeout: time.Millisecond, Transport: k.client.Transport,
		Balancer: kafka.BalancerFunc(func(message kafka.Message, _ ...int) int {
			return message.WriterData.(kafkaGoPlace).partition
		}),
		Completion: func(messages []kafka.Message, _ error) {
			for _, message := range messages {
				offsets[message.WriterData.(kafkaGoPlace).index] = message.Offset
				told.Done()
			}
		},
	}
	defer writer.Close()
	var sent []kafka.Message
	for index, record := range records {
		one := kafka.Message{
			Key: record.Key, Value: record.Value, Time: time.UnixMilli(record.Timestamp),
			WriterData: kafkaGoPlace{int(record.Partition), index},
		}
		for _, header := range record.Headers {
			one.Headers = append(one.Headers, kafka.Header{Key: header.Key, Value: header.Value})
		}
		sent = append(sent, one)
	}
	if err := writer.WriteMessages(ctx, sent...); err != nil {
		var each kafka.WriteErrors
		if errors.As(err, &each) {
			err = errors.Join(each...)
		}
		return nil, err
	}
	told.Wait()
	return offsets, nil
}

func (k *kafkaGo) reader(topic string, partition int, offset int64) (*kafka.Reader, error) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{k.address}, Topic: topic, Partition: partition, MaxBytes: kafkaGoReadBytesMax,
		MaxWait: 500 * time.Millisecond,
	})
	return reader, reader.SetOffset(offset)
}

func (k *kafkaGo) Read(
	ctx context.Context, topic string, partition int32, offset int64, count int,
) ([]Record, error) {
	reader, err := k.reader(topic, int(partition), offset)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	var read []Record
	for len(read) < count {
		one, err := reader.ReadMessage(ctx)
		if err != nil {
			return nil, err
		}
		read = append(read, fromKafkaGo(one))
	}
	return read, nil
}

func fromKafkaGo(one kafka.Message) Record {
	record := Record{
		Partition: int32(one.Partition), Offset: one.Offset, Timestamp: one.Time.UnixMilli(),
		Key: one.Key, Value: one.Value,
	}
	for _, header := range one.Headers {
		record.Headers = append(record.Headers, Header{header.Key, header.Value})
	}
	return record
}

func (k *kafkaGo) CreateTopic(ctx context.Context, topic string, partitions int32, configs map[string]string) error {
	wanted := kafka.TopicConfig{Topic: topic, NumPartitions: int(partitions), ReplicationFactor: 1}
	for key, value := range configs {
		wanted.ConfigEntries = append(wanted.ConfigEntries, kafka.ConfigEntry{ConfigName: key, ConfigValue: value})
	}
	created, err := k.client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{wanted}})
	if err != nil {
		return err
	}
	return created.Errors[topic]
}

func (k *kafkaGo) DeleteTopic(ctx context.Context, topic string) error {
	deleted, err := k.client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	if err != nil {
		return err
	}
	return deleted.Errors[topic]
}

func (k *kafkaGo) DescribeTopic(ctx context.Context, topic string) (Topic, error) {
	partitions, err := k.partitions(ctx, topic)
	if err != nil {
		return Topic{}, err
	}
	resource := kafka.DescribeConfigRequestResource{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic}
	described, err := k.client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{
		Resources: []kafka.DescribeConfigRequestResource{resource},
	})
	if err != nil {
		return Topic{}, err
	}
	configs := map[string]string{}
	for _, entry := range described.Resources[0].ConfigEntries {
		if entry.ConfigSource == kafkaGoTopicConfig {
			configs[entry.ConfigName] = entry.ConfigValue
		}
	}
	return Topic{len(partitions), configs}, described.Resources[0].Error
}

// By a connection of its own: Client answers for some seconds from what it knew.
func (k *kafkaGo) partitions(ctx context.Context, topic string) ([]int, error) {
	conn, err := kafka.DialContext(ctx, "tcp", k.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	known, err := conn.ReadPartitions(topic)
	var partitions []int
	for _, one := range known {
		partitions = append(partitions, one.ID)
	}
	return partitions, err
}

func (k *kafkaGo) OffsetAt(ctx context.Context, topic string, partition int32, timestamp int64) (int64, error) {
	conn, err := kafka.DialLeader(ctx, "tcp", k.address, topic, int(partition))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	switch timestamp {
	case latest:
		return conn.ReadLastOffset()
	case earliest:
		return conn.ReadFirstOffset()
	}
	return conn.ReadOffset(time.UnixMilli(timestamp))
}
