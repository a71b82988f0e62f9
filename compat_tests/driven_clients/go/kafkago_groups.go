package main

import (
	"context"
	"fmt"

	"github.com/segmentio/kafka-go"
)

// What kafka-go's Client asks about groups.

// Who commits without being a member has no generation.
const kafkaGoNoGeneration = -1

func (k *kafkaGo) Progress(ctx context.Context, group, topic string) ([]Progress, error) {
	partitions, err := k.partitions(ctx, topic)
	if err != nil {
		return nil, err
	}
	request := &kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{topic: partitions}}
	fetched, err := k.client.OffsetFetch(ctx, request)
	if err != nil {
		return nil, err
	}
	if fetched.Error != nil {
		return nil, fetched.Error
	}
	var found []Progress
	for _, one := range fetched.Topics[topic] {
		end, err := k.OffsetAt(ctx, topic, int32(one.Partition), latest)
		if err != nil {
			return nil, err
		}
		found = append(found, Progress{int32(one.Partition), one.CommittedOffset, end})
	}
	return found, nil
}

func (k *kafkaGo) DescribeGroup(ctx context.Context, group string) (Group, error) {
	described, err := k.client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
	if err != nil {
		return Group{}, err
	}
	if len(described.Groups) != 1 {
		return Group{}, fmt.Errorf("%d groups are described", len(described.Groups))
	}
	found := described.Groups[0]
	return Group{found.GroupState, len(found.Members)}, found.Error
}

func (k *kafkaGo) DeleteGroup(ctx context.Context, group string) error {
	deleted, err := k.client.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{group}})
	if err != nil {
		return err
	}
	return deleted.Errors[group]
}

func (k *kafkaGo) ListGroups(ctx context.Context) (map[string]ListedGroup, error) {
	listed, err := k.client.ListGroups(ctx, &kafka.ListGroupsRequest{})
	if err != nil {
		return nil, err
	}
	found := map[string]ListedGroup{}
	for _, group := range listed.Groups {
		found[group.GroupID] = ListedGroup{}
	}
	return found, listed.Error
}

func (k *kafkaGo) SetCommitted(ctx context.Context, group, topic string, partition int32, offset int64) error {
	committed, err := k.client.OffsetCommit(ctx, &kafka.OffsetCommitRequest{
		GroupID: group, GenerationID: kafkaGoNoGeneration,
		Topics: map[string][]kafka.OffsetCommit{topic: {{Partition: int(partition), Offset: offset}}},
	})
	if err != nil {
		return err
	}
	return committed.Topics[topic][0].Error
}

func (k *kafkaGo) DeleteCommitted(ctx context.Context, group, topic string, partition int32) error {
	deleted, err := k.client.OffsetDelete(ctx, &kafka.OffsetDeleteRequest{
		GroupID: group, Topics: map[string][]int{topic: {int(partition)}},
	})
	if err != nil {
		return err
	}
	if deleted.Error != nil {
		return deleted.Error
	}
	return deleted.Topics[topic][0].Error
}
