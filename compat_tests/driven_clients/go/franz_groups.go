package main

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// What franz-go's admin asks about groups. Those of the new protocol are described by an API of their own, and unknown
// to the other one.

func (f *franz) Progress(ctx context.Context, group, topic string) ([]Progress, error) {
	committed, err := f.admin.FetchOffsetsForTopics(ctx, group, topic)
	if err != nil {
		return nil, err
	}
	if err := committed.Error(); err != nil {
		return nil, err
	}
	ends, err := f.admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	lag := kadm.CalculateGroupLag(kadm.DescribedGroup{Group: group, State: "Empty"}, committed, ends)
	var found []Progress
	for _, one := range lag.Sorted() {
		found = append(found, Progress{one.Partition, one.Commit.At, one.End.Offset})
	}
	return found, nil
}

func (f *franz) DescribeGroup(ctx context.Context, group string) (Group, error) {
	described, err := f.admin.DescribeGroups(ctx, group)
	if err != nil {
		return Group{}, err
	}
	if found := described[group]; !errors.Is(found.Err, kerr.GroupIDNotFound) {
		return Group{found.State, len(found.Members)}, found.Err
	}
	others, err := f.admin.DescribeConsumerGroups(ctx, group)
	if err != nil {
		return Group{}, err
	}
	found := others[group]
	return Group{found.State, len(found.Members)}, found.Err
}

func (f *franz) ListGroups(ctx context.Context) (map[string]ListedGroup, error) {
	found := map[string]ListedGroup{}
	for _, of := range []string{"classic", "consumer"} {
		listed, err := f.admin.ListGroupsByType(ctx, []string{of})
		if err != nil {
			return nil, err
		}
		for name, group := range listed {
			found[name] = ListedGroup{group.State, of}
		}
	}
	return found, nil
}

func (f *franz) DeleteGroup(ctx context.Context, group string) error {
	deleted, err := f.admin.DeleteGroup(ctx, group)
	if err != nil {
		return err
	}
	return deleted.Err
}

func (f *franz) SetCommitted(ctx context.Context, group, topic string, partition int32, offset int64) error {
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, partition, offset, -1)
	committed, err := f.admin.CommitOffsets(ctx, group, offsets)
	if err != nil {
		return err
	}
	return committed.Error()
}

func (f *franz) DeleteCommitted(ctx context.Context, group, topic string, partition int32) error {
	places := kadm.TopicsSet{}
	places.Add(topic, partition)
	deleted, err := f.admin.DeleteOffsets(ctx, group, places)
	if err != nil {
		return err
	}
	return deleted.Error()
}
