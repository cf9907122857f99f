package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

func usableDB(t testing.TB) *query.DB {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "t"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// servedPages serves the pages of a database with a table, and returns their address. end
// asks the server to stop; done gets its error.
func servedPages(t *testing.T, o server.Options) (db *query.DB, addr string, end func(), done chan error) {
	t.Helper()
	db = usableDB(t)
	s, err := server.New(db, o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	done = make(chan error, 1)
	go func() { done <- s.ServePages(ctx, l, server.TLSFiles{}, nil) }()
	return db, l.Addr().String(), cancel, done
}

func textOf(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A client that does not read its answer holds it up for the send timeout alone. It gets
// a part of the answer that cannot be taken for the whole.
func TestAClientOfTheJSONAPIThatDoesNotRead(t *testing.T) {
	db, addr, end, done := servedPages(t, server.Options{Limits: server.Limits{SendTimeout: 50 * time.Millisecond}})
	value := cells.String(strings.Repeat("x", 1<<20))
	for i := range 64 { // more than the buffers of a connection
		m := write.NewMutation()
		m.Set("t", "", value)
		if err := db.Table("t").Apply(t.Context(), fmt.Sprint(i), m); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"row":{"prefix":""}}`
	fmt.Fprintf(conn, "POST /v1/table/t/scan HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", addr, len(body), body)
	for !strings.Contains(textOf(t, "http://"+addr+"/metrics"), `smolwc_calls_total{code="Unavailable",method="json.v1/Scan"} 1`) {
		time.Sleep(10 * time.Millisecond)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", resp, err)
	}
	if n, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Errorf("the answer of %d bytes looks whole", n)
	}
	if got := textOf(t, "http://"+addr+"/metrics"); !strings.Contains(got, "\nsmolwc_bytes_in_hand 0\n") {
		t.Error("the call still has bytes in hand")
	}
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A request under way when the pages stop is answered.
func TestPagesThatStopAnswerRequestsUnderWay(t *testing.T) {
	_, addr, end, done := servedPages(t, server.Options{})
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"items":[{"row_key":"k","cells":[{"column_key":"t:","type":"i32","value":1}]}]}`
	fmt.Fprintf(conn, "POST /v1/table/t/write HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", addr, len(body), body[:10])
	for !strings.Contains(textOf(t, "http://"+addr+"/metrics"), `smolwc_calls_in_flight{method="json.v1/Write"} 1`) {
		time.Sleep(10 * time.Millisecond)
	}
	end()
	for { // until the pages take no more connections
		c, err := net.Dial("tcp", addr)
		if err != nil {
			break
		}
		c.Close()
	}
	select {
	case err := <-done:
		t.Fatalf("stopped with a request under way: %v", err)
	default:
	}
	fmt.Fprint(conn, body[10:])
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%v %v", resp, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
