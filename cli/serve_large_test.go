package cli

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/query"
)

// Large requests at once, in every stage of their way to the disk: the memory of the
// process stays below the bound that the page on serving promises.
func TestLargeRequestsStayWithinTheBound(t *testing.T) {
	const memory, inHand = 32, 192
	most := int64(raceMemory * (memory + inHand + 256) << 20)
	if query.DefaultEngine() == query.EnginePebble {
		most += raceMemory * 192 << 20 // its copies of large values are Go's
	}
	if !query.HasRocksDB {
		most += 256 << 20 // and without cgo its memtables, which are collected late on a busy machine
	}
	for _, c := range []struct {
		name string
		send func(t *testing.T, s *served)
	}{
		{"values that are written", func(t *testing.T, s *served) { writeLarge(t, s, 8, 20<<20) }},
		{"a value as large as the limit of values", func(t *testing.T, s *served) { writeLarge(t, s, 1, 99_000_000) }},
		{"bodies that are half sent", func(t *testing.T, s *served) { halfSent(t, s, 8, 40<<20, 16<<10) }},
		{"bodies that are half sent, in small frames", func(t *testing.T, s *served) { halfSent(t, s, 8, 40<<20, 1100) }},
		{"texts of JSON that do not end", func(t *testing.T, s *served) { endlessJSON(t, s, 60, 9<<20) }},
		{"cells of JSON", func(t *testing.T, s *served) { manyCells(t, s, 8, 100_000) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := startServer(t, "--db", filepath.Join(t.TempDir(), "db"), "--durability", "async", "--memory", fmt.Sprint(memory, "MiB"),
				"--max-bytes", fmt.Sprint(inHand, "MiB"), "--http", "127.0.0.1:0")
			fillTable(t, s, 1, 1, 1)
			peakMemory(t, s) // skips where the system does not tell
			c.send(t, s)
			if peak := peakMemory(t, s); peak > most {
				t.Errorf("the process had %d MiB; want at most %d", peak>>20, most>>20)
			} else {
				t.Logf("%d MiB at most", peak>>20)
			}
			s.end(9)
		})
	}
}

// writeLarge writes a value from each of some clients. A client that is told to try again
// does so.
func writeLarge(t *testing.T, s *served, clients, size int) {
	value := bytes.Repeat([]byte("value"), size/5)
	var all sync.WaitGroup
	for i := range clients {
		data := bigtablepb.NewBigtableClient(dialStopping(t, s))
		all.Go(func() {
			for {
				_, err := data.MutateRow(t.Context(), &bigtablepb.MutateRowRequest{TableName: boundTable, RowKey: fmt.Appendf(nil, "large%d", i), Mutations: []*bigtablepb.Mutation{{
					Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{FamilyName: "f", ColumnQualifier: []byte("q"), TimestampMicros: 1000, Value: value}},
				}}})
				if status.Code(err) != codes.Unavailable {
					if err != nil {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	all.Wait()
}

// halfSent begins requests of size bytes on a connection each, and sends half of each in
// frames of a size. It ends when the server has read them.
func halfSent(t *testing.T, s *served, clients, size, frame int) {
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			conn, err := net.Dial("tcp", s.addr)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			newHalfSender(conn).send(size, frame)
		})
	}
	all.Wait()
	for inHand(t, s) < clients*size/2*9/10 {
		time.Sleep(10 * time.Millisecond)
	}
}

// inHand is the bytes that the server has in hand for its clients.
func inHand(t *testing.T, s *served) int {
	t.Helper()
	resp, err := http.Get(s.pages)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^smolwc_bytes_in_hand (\S+)`).FindStringSubmatch(string(text))
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

// A halfSender speaks as much HTTP/2 as a request needs.
type halfSender struct {
	net.Conn
	mu     sync.Mutex
	more   sync.Cond
	window [2]int // of the connection, and of the stream
	closed bool
}

const (
	frameData, frameHeaders, frameSettings, frameWindow = 0, 1, 4, 8
	endHeaders                                          = 4
)

func newHalfSender(conn net.Conn) *halfSender {
	h := &halfSender{Conn: conn, window: [2]int{65535, 65535}}
	h.more.L = &h.mu
	_, _ = io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	h.frame(frameSettings, 0, 0, nil)
	var headers []byte
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", "/google.bigtable.v2.Bigtable/MutateRow"},
		{":authority", "smolwc"}, {"content-type", "application/grpc"}, {"te", "trailers"}} {
		headers = append(append(append(headers, 0), byte(len(f[0]))), f[0]...)
		headers = append(append(headers, byte(len(f[1]))), f[1]...)
	}
	h.frame(frameHeaders, endHeaders, 1, headers)
	go h.receive()
	return h
}

func (h *halfSender) frame(kind, flags byte, stream uint32, content []byte) {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(content))<<8|uint32(kind))
	head = binary.BigEndian.AppendUint32(append(head, flags), stream)
	_, _ = h.Write(append(head, content...)) // receive notices a closed connection
}

// receive reads what the server allows.
func (h *halfSender) receive() {
	r := bufio.NewReader(h.Conn)
	for head := make([]byte, 9); ; {
		_, err := io.ReadFull(r, head)
		content := make([]byte, binary.BigEndian.Uint32(head)>>8)
		if err == nil {
			_, err = io.ReadFull(r, content)
		}
		h.mu.Lock()
		switch {
		case err != nil:
			h.closed = true
		case head[3] == frameWindow:
			h.window[min(1, binary.BigEndian.Uint32(head[5:]))] += int(binary.BigEndian.Uint32(content))
		case head[3] == frameSettings:
			for ; len(content) >= 6; content = content[6:] {
				if binary.BigEndian.Uint16(content) == 4 { // the first window of each stream
					h.window[1] += int(binary.BigEndian.Uint32(content[2:])) - 65535
				}
			}
		}
		h.more.Broadcast()
		h.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (h *halfSender) send(size, frame int) {
	content := make([]byte, frame)
	binary.BigEndian.PutUint32(content[1:], uint32(size)) // a message that is not compressed
	for sent := 0; sent < size/2; sent += frame {
		h.mu.Lock()
		for !h.closed && min(h.window[0], h.window[1]) < frame {
			h.more.Wait()
		}
		h.window[0], h.window[1] = h.window[0]-frame, h.window[1]-frame
		closed := h.closed
		h.mu.Unlock()
		if closed {
			return
		}
		h.frame(frameData, 0, 1, content)
		clear(content[:5])
	}
}

// endlessJSON sends a text of size bytes that does not end on each of some connections.
func endlessJSON(t *testing.T, s *served, clients, size int) {
	at := strings.TrimSuffix(strings.TrimPrefix(s.pages, "http://"), "/metrics")
	text := strings.Repeat("x", size)
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			conn, err := net.Dial("tcp", at)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			// The server may refuse it, and not read the rest.
			_, _ = fmt.Fprintf(conn, "POST /v1/table/t/write HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"+
				`{"items":[{"row_key":"r","cells":[{"column_key":"f:x","type":"string","value":"%s`, size+100, text)
		})
	}
	all.Wait()
}

// manyCells writes a row of cells as JSON from each of some clients.
func manyCells(t *testing.T, s *served, clients, cells int) {
	var body strings.Builder
	body.WriteString(`{"items":[{"row_key":"r","cells":[`)
	for i := range cells {
		fmt.Fprintf(&body, `%s{"column_key":"f:%d","type":"byte","value":1}`, strings.Repeat(",", min(i, 1)), i)
	}
	body.WriteString(`]}]}`)
	at := strings.TrimSuffix(strings.TrimPrefix(s.pages, "http://"), "/metrics")
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			conn, err := net.Dial("tcp", at)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = fmt.Fprintf(conn, "POST /v1/table/t/write HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", body.Len(), body.String())
			answer, _ := io.ReadAll(conn)
			if ok := bytes.HasPrefix(answer, []byte("HTTP/1.1 200")); !ok && !bytes.HasPrefix(answer, []byte("HTTP/1.1 503")) {
				t.Errorf("answer: %.200s", answer)
			}
		})
	}
	all.Wait()
}
