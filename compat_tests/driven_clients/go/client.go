package main

import (
	"context"
	"time"
)

// What every library is asked for, in words that are no library's. How each does it is in a file of its own.

// Special times, as the protocol has them.
const (
	latest   = -1
	earliest = -2
)

type Header struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

// Record is one to be written, or one that was read; keys and values may be null, which is not empty.
type Record struct {
	Partition int32    `json:"partition"`
	Offset    int64    `json:"offset"`
	Timestamp int64    `json:"timestamp"`
	Key       []byte   `json:"key"`
	Value     []byte   `json:"value"`
	Headers   []Header `json:"headers"`
}

// Request is a line of the driver's input; each kind uses some of the fields.
type Request struct {
	ID               int               `json:"id"`
	Do               string            `json:"do"`
	Topic            string            `json:"topic"`
	Partition        int32             `json:"partition"`
	Offset           int64             `json:"offset"`
	Count            int               `json:"count"`
	Codec            string            `json:"codec"`
	Records          []Record          `json:"records"`
	Timestamp        int64             `json:"timestamp"`
	Partitions       int32             `json:"partitions"`
	Configs          map[string]string `json:"configs"`
	Group            string            `json:"group"`
	Protocol         string            `json:"protocol"`
	InstanceID       string            `json:"instance_id"`
	SessionTimeoutMs int               `json:"session_timeout_ms"`
}

// Topic is what its describers say; Configs are those that were set on it.
type Topic struct {
	Partitions int               `json:"partitions"`
	Configs    map[string]string `json:"configs"`
}

type Group struct {
	State   string `json:"state"`
	Members int    `json:"members"`
}

// ListedGroup is what lists of groups tell of one, as far as the library tells it.
type ListedGroup struct {
	State string `json:"state,omitempty"`
	Type  string `json:"type,omitempty"`
}

// Progress of a group in one partition; Committed is -1 where nothing is.
type Progress struct {
	Partition int32 `json:"partition"`
	Committed int64 `json:"committed"`
	End       int64 `json:"end"`
}

// Often, so that members notice a rebalance soon.
const heartbeatInterval = 200 * time.Millisecond

type Client interface {
	// Produce writes records, each to the partition that it names, and returns their offsets.
	Produce(ctx context.Context, topic, codec string, records []Record) ([]int64, error)
	// Read reads so many records from an offset on, outside of any group.
	Read(ctx context.Context, topic string, partition int32, offset int64, count int) ([]Record, error)
	CreateTopic(ctx context.Context, topic string, partitions int32, configs map[string]string) error
	DeleteTopic(ctx context.Context, topic string) error
	DescribeTopic(ctx context.Context, topic string) (Topic, error)
	// OffsetAt is the offset of the first record that is not older; where there is none, libraries differ.
	OffsetAt(ctx context.Context, topic string, partition int32, timestamp int64) (int64, error)
	Progress(ctx context.Context, group, topic string) ([]Progress, error)
	DescribeGroup(ctx context.Context, group string) (Group, error)
	ListGroups(ctx context.Context) (map[string]ListedGroup, error)
	DeleteGroup(ctx context.Context, group string) error
	// SetCommitted commits in the place of a group that has no members.
	SetCommitted(ctx context.Context, group, topic string, partition int32, offset int64) error
	DeleteCommitted(ctx context.Context, group, topic string, partition int32) error
	// Join makes a member, which goes on by itself and prints events.
	Join(r Request) (Member, error)
	// Code is the error that the broker named, or 0 where it named none.
	Code(err error) int16
}

// Member of a group: it consumes what it is assigned, and commits only when told.
type Member interface {
	Commit(ctx context.Context, partition int32, offset int64) error
	Seek(ctx context.Context, partition int32, offset int64) error
	Leave(ctx context.Context) error
}

type event struct {
	Event      string  `json:"event"`
	Partitions []int32 `json:"partitions,omitempty"`
	Record     *Record `json:"record,omitempty"`
	Message    string  `json:"message,omitempty"`
	Code       int16   `json:"code,omitempty"`
}

func tellAssigned(partitions ...int32) { printLine(event{Event: "assigned", Partitions: partitions}) }

func tellRevoked(partitions ...int32) { printLine(event{Event: "revoked", Partitions: partitions}) }

func tellRecord(record Record) { printLine(event{Event: "record", Record: &record}) }

// tellTrouble tells an error with the broker's number for it, or 0, for tests and for whoever reads why one failed.
func tellTrouble(err error, code int16) {
	printLine(event{Event: "trouble", Message: err.Error(), Code: code})
}
