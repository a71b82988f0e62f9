package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type franzMember struct {
	client *kgo.Client
	topic  string
	// Closed when the loop that polls has ended.
	ended chan struct{}
}

func (f *franz) Join(r Request) (Member, error) {
	tell := func(say func(...int32)) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) { say(partitions[r.Topic]...) }
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(f.address),
		kgo.ConsumerGroup(r.Group),
		kgo.ConsumeTopics(r.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.SessionTimeout(time.Duration(r.SessionTimeoutMs) * time.Millisecond),
		kgo.HeartbeatInterval(heartbeatInterval),
		kgo.OnPartitionsAssigned(tell(tellAssigned)),
		kgo.OnPartitionsRevoked(tell(tellRevoked)),
		kgo.OnPartitionsLost(tell(tellRevoked)),
	}
	for _, option := range franzProtocols[r.Protocol] {
		options = append(options, option)
	}
	if r.InstanceID != "" {
		options = append(options, kgo.InstanceID(r.InstanceID))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	member := &franzMember{client, r.Topic, make(chan struct{})}
	go member.poll()
	return member, nil
}

func (m *franzMember) poll() {
	defer close(m.ended)
	for {
		fetches := m.client.PollFetches(context.Background())
		if fetches.IsClientClosed() {
			return
		}
		fetches.EachError(func(_ string, _ int32, err error) { tellTrouble(err, franzCode(err)) })
		fetches.EachRecord(func(one *kgo.Record) { tellRecord(fromFranz(one)) })
	}
}

func (m *franzMember) Commit(ctx context.Context, partition int32, offset int64) error {
	offsets := map[string]map[int32]kgo.EpochOffset{m.topic: {partition: {Epoch: -1, Offset: offset}}}
	var failed error
	committed := func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error) {
		if failed = err; err == nil {
			failed = kerr.ErrorForCode(response.Topics[0].Partitions[0].ErrorCode)
		}
	}
	m.client.CommitOffsetsSync(ctx, offsets, committed)
	return failed
}

func (m *franzMember) Seek(_ context.Context, partition int32, offset int64) error {
	m.client.SetOffsets(map[string]map[int32]kgo.EpochOffset{m.topic: {partition: {Epoch: -1, Offset: offset}}})
	return nil
}

func (m *franzMember) Leave(context.Context) error {
	m.client.Close()
	<-m.ended
	return nil
}
