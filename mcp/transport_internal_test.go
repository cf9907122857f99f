package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A flood is a connection with calls without end.
type flood struct {
	sdk.Connection
	read int64
}

func (f *flood) Read(context.Context) (jsonrpc.Message, error) {
	f.read++
	id, err := jsonrpc.MakeID(float64(f.read))
	return &jsonrpc.Request{ID: id, Method: "tools/call", Params: json.RawMessage("{}")}, err
}

func (*flood) Write(context.Context, jsonrpc.Message) error { return nil }
func (*flood) Close() error                                 { return nil }

// An agent that calls without waiting for answers is read no further, until there are some, or
// the end comes.
func TestOpenCallsAreBounded(t *testing.T) {
	f := &flood{}
	c := newAnswering(f, nil)
	var first jsonrpc.Message
	for range maxOpen {
		m, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		first = m
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("with too many open calls: %v", err)
	}
	if err := c.Write(t.Context(), &jsonrpc.Response{ID: first.(*jsonrpc.Request).ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(t.Context()); err != nil {
		t.Errorf("after an answer: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}
