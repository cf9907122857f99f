package mcp_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/smolwc/smolwc/mcp"
)

// An agent that reads no answers does not hold up the end.
func TestStopEndsWithAnswersUnread(t *testing.T) {
	db := open(t)
	ctx, stop := context.WithCancel(t.Context())
	in, agent := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- mcp.Serve(ctx, in, out, mcp.Options{DB: db, Budget: small, Timeout: time.Hour})
	}()
	_, err := io.WriteString(agent, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`+"\n")
	must(t, err)
	_, err = answers.Read(make([]byte, 1)) // the rest of the answer is not read
	must(t, err)
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	_ = agent.Close()
	_ = answers.Close()
}
