package main

import (
	"context"

	"github.com/IBM/sarama"
)

// What sarama's admin asks about groups.

func (s *saramaClient) Progress(_ context.Context, group, topic string) ([]Progress, error) {
	partitions, err := s.client.Partitions(topic)
	if err != nil {
		return nil, err
	}
	committed, err := s.admin.ListConsumerGroupOffsets(group, map[string][]int32{topic: partitions})
	if err != nil {
		return nil, err
	}
	var found []Progress
	for _, partition := range partitions {
		end, err := s.client.GetOffset(topic, partition, latest)
		if err != nil {
			return nil, err
		}
		found = append(found, Progress{partition, committed.GetBlock(topic, partition).Offset, end})
	}
	return found, nil
}

func (s *saramaClient) DescribeGroup(_ context.Context, group string) (Group, error) {
	described, err := s.admin.DescribeConsumerGroups([]string{group})
	if err != nil {
		return Group{}, err
	}
	if described[0].Err != sarama.ErrNoError {
		return Group{}, described[0].Err
	}
	return Group{described[0].State, len(described[0].Members)}, nil
}

func (s *saramaClient) DeleteGroup(_ context.Context, group string) error {
	return s.admin.DeleteConsumerGroup(group)
}

func (s *saramaClient) ListGroups(context.Context) (map[string]ListedGroup, error) {
	listed, err := s.admin.ListConsumerGroups()
	found := map[string]ListedGroup{}
	for name := range listed {
		found[name] = ListedGroup{}
	}
	return found, err
}

func (s *saramaClient) SetCommitted(_ context.Context, group, topic string, partition int32, offset int64) error {
	offsets := map[string]map[int32]sarama.OffsetAndMetadata{topic: {partition: {Offset: offset, LeaderEpoch: -1}}}
	committed, err := s.admin.AlterConsumerGroupOffsets(group, offsets, nil)
	if err != nil {
		return err
	}
	if refused := committed.Errors[topic][partition]; refused != sarama.ErrNoError {
		return refused
	}
	return nil
}

func (s *saramaClient) DeleteCommitted(_ context.Context, group, topic string, partition int32) error {
	return s.admin.DeleteConsumerGroupOffset(group, topic, partition)
}
