package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/coder/websocket"
	"github.com/smolwc/smolwc/rhino"
	"github.com/smolwc/smolwc/rhino/internal/link"
)

// A Client is a connection to one of the servers, for requests one after another. It
// belongs to one goroutine.
type Client struct {
	conn *websocket.Conn
	http *http.Client
	c    *Config
	last int
}

// Dial connects to the front of a region, or to the region itself if direct is true, or
// to the control if name is "control".
func Dial(ctx context.Context, c *Config, name string, direct bool) (*Client, error) {
	if c == nil || ctx == nil {
		return nil, errors.New("the configuration or the context is nil")
	}
	address, secret, err := c.where(name, direct)
	if err != nil {
		return nil, err
	}
	_, client, err := c.TLS.load(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	header := http.Header{}
	if secret != "" {
		header.Set("Authorization", "Bearer "+secret)
	}
	h := &http.Client{Transport: &http.Transport{TLSClientConfig: client}}
	ctx, stop := context.WithTimeout(ctx, c.Deadline)
	defer stop()
	conn, _, err := websocket.Dial(ctx, c.URL(address), &websocket.DialOptions{HTTPClient: h, HTTPHeader: header})
	if err != nil {
		return nil, fmt.Errorf("%s at %s cannot be reached: %w", name, address, err)
	}
	conn.SetReadLimit(rhino.MaxMessage + link.Overhead)
	return &Client{conn: conn, http: h, c: c}, nil
}

func (c *Config) where(name string, direct bool) (address, secret string, err error) {
	if name == controlName {
		return c.Control.Address, c.Secret, nil
	}
	g, err := c.find(name)
	if direct {
		return g.Address, c.Secret, err
	}
	return g.Front.Address, "", err
}

// Call sends the payload of a request, in JSON, and returns the reply's.
func (c *Client) Call(ctx context.Context, payload string) (string, error) {
	if c == nil || c.conn == nil || ctx == nil {
		return "", errors.New("the client or the context is nil")
	}
	if !json.Valid([]byte(payload)) {
		return "", fmt.Errorf("%q is not JSON", payload)
	}
	c.last++
	text := fmt.Sprintf(`{"correlation_id":%q,"payload":%s}`, strconv.Itoa(c.last), payload)
	ctx, stop := context.WithTimeout(ctx, 2*c.c.Deadline)
	defer stop()
	if err := c.conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		return "", err
	}
	_, answer, err := c.conn.Read(ctx)
	if err != nil {
		return "", err
	}
	var reply struct{ Payload json.RawMessage }
	if err := json.Unmarshal(answer, &reply); err != nil {
		return "", fmt.Errorf("the reply is not a message: %w", err)
	}
	return string(reply.Payload), nil
}

// Close ends the connection.
func (c *Client) Close() error {
	if c == nil || c.conn == nil {
		return nil
	}
	defer c.http.CloseIdleConnections()
	return c.conn.Close(websocket.StatusNormalClosure, "")
}
