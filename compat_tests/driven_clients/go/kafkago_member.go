package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

// A member by ConsumerGroup, which kafka-go's Reader is made of: generations begin and end, each with its partitions.
type kafkaGoMember struct {
	client *kafkaGo
	group  *kafka.ConsumerGroup
	topic  string
	ended  chan struct{}

	mutex sync.Mutex
	// Guarded by the mutex: the generation that runs, and who reads for it.
	generation *kafka.Generation
	readers    map[int]*kafka.Reader
}

func (k *kafkaGo) Join(r Request) (Member, error) {
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: r.Group, Brokers: []string{k.address}, Topics: []string{r.Topic}, StartOffset: kafka.FirstOffset,
		SessionTimeout:    time.Duration(r.SessionTimeoutMs) * time.Millisecond,
		HeartbeatInterval: heartbeatInterval,
		JoinGroupBackoff:  heartbeatInterval,
	})
	if err != nil {
		return nil, err
	}
	member := &kafkaGoMember{
		client: k, group: group, topic: r.Topic, ended: make(chan struct{}), readers: map[int]*kafka.Reader{},
	}
	go member.consume()
	return member, nil
}

func (m *kafkaGoMember) consume() {
	defer close(m.ended)
	for {
		generation, err := m.group.Next(context.Background())
		if errors.Is(err, kafka.ErrGroupClosed) {
			return
		}
		if err != nil {
			tellTrouble(err, kafkaGoCode(err))
			continue
		}
		m.mutex.Lock()
		m.generation = generation
		m.mutex.Unlock()
		for _, assigned := range generation.Assignments[m.topic] {
			generation.Start(func(ctx context.Context) { m.read(ctx, assigned) })
		}
	}
}

// Read a partition while the generation lasts.
func (m *kafkaGoMember) read(ctx context.Context, assigned kafka.PartitionAssignment) {
	reader, err := m.client.reader(m.topic, assigned.ID, assigned.Offset)
	if err != nil {
		tellTrouble(err, kafkaGoCode(err))
		return
	}
	defer reader.Close()
	m.mutex.Lock()
	m.readers[assigned.ID] = reader
	m.mutex.Unlock()
	tellAssigned(int32(assigned.ID))
	defer tellRevoked(int32(assigned.ID))
	for {
		one, err := reader.ReadMessage(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			tellTrouble(err, kafkaGoCode(err))
			continue
		}
		tellRecord(fromKafkaGo(one))
	}
}

func (m *kafkaGoMember) Commit(_ context.Context, partition int32, offset int64) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.generation.CommitOffsets(map[string]map[int]int64{m.topic: {int(partition): offset}})
}

func (m *kafkaGoMember) Seek(_ context.Context, partition int32, offset int64) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.readers[int(partition)].SetOffset(offset)
}

func (m *kafkaGoMember) Leave(context.Context) error {
	err := m.group.Close()
	<-m.ended
	return err
}
