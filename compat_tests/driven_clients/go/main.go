// A driver: one Go client, told by lines of JSON on its input what to do.
//
//	driver franz-go 127.0.0.1:9092
//
// Each line is a request with an id, and gets a line with the same id: an answer, or a failure with Kafka's error code
// where there is one. What a member of a group learns in between is printed as events, without an id. The input's end is
// the driver's end, and nobody is told goodbye. What requests mean is in client.go; what is right, only the tests know.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Far beyond what a busy machine takes: it ends a call that hangs and paces nothing.
const patience = 60 * time.Second

var clients = map[string]func(address string) (Client, error){
	"franz-go": newFranz,
	"sarama":   newSarama,
	"kafka-go": newKafkaGo,
}

type failure struct {
	Code    int16  `json:"code"`
	Message string `json:"message"`
}

type reply struct {
	ID     int      `json:"id"`
	Answer any      `json:"answer"`
	Failed *failure `json:"failed,omitempty"`
}

// Lines come from many goroutines; each is printed whole.
var printing sync.Mutex

func printLine(value any) {
	line, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	printing.Lock()
	defer printing.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

func main() {
	client, err := clients[os.Args[1]](os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	driver := &driver{client: client}
	input := bufio.NewReader(os.Stdin)
	for {
		line, err := input.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		var request Request
		if err := json.Unmarshal(line, &request); err != nil {
			panic(err)
		}
		go driver.handle(request)
	}
}

// A driver has one client and, once it was told to join, one member.
type driver struct {
	client Client
	member Member
}

func (d *driver) handle(request Request) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	answer, err := d.do(ctx, request)
	if err != nil {
		printLine(reply{ID: request.ID, Failed: &failure{d.client.Code(err), err.Error()}})
		return
	}
	printLine(reply{ID: request.ID, Answer: answer})
}

func (d *driver) do(ctx context.Context, r Request) (any, error) {
	switch r.Do {
	case "produce":
		return d.client.Produce(ctx, r.Topic, r.Codec, r.Records)
	case "read":
		return d.client.Read(ctx, r.Topic, r.Partition, r.Offset, r.Count)
	case "create_topic":
		return nil, d.client.CreateTopic(ctx, r.Topic, r.Partitions, r.Configs)
	case "delete_topic":
		return nil, d.client.DeleteTopic(ctx, r.Topic)
	case "describe_topic":
		return d.client.DescribeTopic(ctx, r.Topic)
	case "offset_at":
		return d.client.OffsetAt(ctx, r.Topic, r.Partition, r.Timestamp)
	case "progress":
		return d.client.Progress(ctx, r.Group, r.Topic)
	case "describe_group":
		return d.client.DescribeGroup(ctx, r.Group)
	case "list_groups":
		return d.client.ListGroups(ctx)
	case "delete_group":
		return nil, d.client.DeleteGroup(ctx, r.Group)
	case "set_committed":
		return nil, d.client.SetCommitted(ctx, r.Group, r.Topic, r.Partition, r.Offset)
	case "delete_committed":
		return nil, d.client.DeleteCommitted(ctx, r.Group, r.Topic, r.Partition)
	case "join":
		member, err := d.client.Join(r)
		d.member = member
		return nil, err
	case "commit":
		return nil, d.member.Commit(ctx, r.Partition, r.Offset)
	case "seek":
		return nil, d.member.Seek(ctx, r.Partition, r.Offset)
	case "leave":
		return nil, d.member.Leave(ctx)
	}
	return nil, fmt.Errorf("nobody knows how to %s", r.Do)
}
