package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

// A member that gives its session up when it is told to seek: sarama takes new positions when a session begins.
type saramaMember struct {
	group sarama.ConsumerGroup
	topic string
	left  context.Context
	leave context.CancelFunc
	ended chan struct{}

	mutex sync.Mutex
	// Guarded by the mutex: the session that runs, how to end it, and the positions that the next one begins with.
	session sarama.ConsumerGroupSession
	restart context.CancelFunc
	seeks   map[int32]int64
}

func (s *saramaClient) Join(r Request) (Member, error) {
	config := sarama.NewConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Return.Errors = true
	config.Consumer.Group.InstanceId = r.InstanceID
	config.Consumer.Group.Session.Timeout = time.Duration(r.SessionTimeoutMs) * time.Millisecond
	config.Consumer.Group.Heartbeat.Interval = heartbeatInterval
	config.Consumer.Group.Rebalance.Retry.Backoff = heartbeatInterval
	if r.Protocol == "cooperative" {
		strategies := []sarama.BalanceStrategy{sarama.NewBalanceStrategyCooperativeSticky()}
		config.Consumer.Group.Rebalance.GroupStrategies = strategies
	}
	group, err := sarama.NewConsumerGroup(s.address, r.Group, config)
	if err != nil {
		return nil, err
	}
	left, leave := context.WithCancel(context.Background())
	member := &saramaMember{
		group: group, topic: r.Topic, left: left, leave: leave, ended: make(chan struct{}), seeks: map[int32]int64{},
	}
	go member.consume()
	go member.tellErrors()
	return member, nil
}

// One turn is one session, or with a cooperative strategy as many as there are until it seeks.
func (m *saramaMember) consume() {
	defer close(m.ended)
	for m.left.Err() == nil {
		session, restart := context.WithCancel(m.left)
		m.mutex.Lock()
		m.restart = restart
		m.mutex.Unlock()
		if err := m.group.Consume(session, []string{m.topic}, m); err != nil {
			tellTrouble(err, saramaCode(err))
			if errors.Is(err, sarama.ErrFencedInstancedId) {
				// Another has its name; by coming back it would only take it away again.
				restart()
				return
			}
		}
		restart()
	}
}

func (m *saramaMember) tellErrors() {
	for err := range m.group.Errors() {
		tellTrouble(err, saramaCode(err))
	}
}

func (m *saramaMember) Setup(session sarama.ConsumerGroupSession) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.session = session
	for partition, offset := range m.seeks {
		// The first moves backwards only, the second forwards only.
		session.ResetOffset(m.topic, partition, offset, "")
		session.MarkOffset(m.topic, partition, offset, "")
	}
	clear(m.seeks)
	return nil
}

func (m *saramaMember) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (m *saramaMember) ConsumeClaim(_ sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	tellAssigned(claim.Partition())
	defer tellRevoked(claim.Partition())
	for one := range claim.Messages() {
		tellRecord(fromSarama(one))
	}
	return nil
}

// Commit says nothing of failure, as sarama's does not: what came of it is seen in the group's progress.
func (m *saramaMember) Commit(_ context.Context, partition int32, offset int64) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.session.MarkOffset(m.topic, partition, offset, "")
	m.session.Commit()
	return nil
}

func (m *saramaMember) Seek(_ context.Context, partition int32, offset int64) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.seeks[partition] = offset
	m.restart()
	return nil
}

func (m *saramaMember) Leave(context.Context) error {
	m.leave()
	<-m.ended
	return m.group.Close()
}
