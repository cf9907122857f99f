package jsonapi

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/internal/account"
	"github.com/smolwc/smolwc/server/internal/catalog"
)

// A problem is an error as clients see it. The message is Smoltable's where one exists;
// then detail says more.
type problem struct {
	status          int
	message, detail string
}

func (p *problem) Error() string {
	if p.detail == "" {
		return p.message
	}
	return p.message + ": " + p.detail
}

// GRPCStatus makes the guard count and log the error by its kind.
func (p *problem) GRPCStatus() *status.Status {
	code := codes.InvalidArgument
	switch p.status {
	case http.StatusNotFound:
		code = codes.NotFound
	case http.StatusConflict:
		code = codes.AlreadyExists
	case http.StatusForbidden:
		code = codes.PermissionDenied
	case http.StatusRequestTimeout:
		code = codes.DeadlineExceeded
	}
	return status.New(code, p.Error())
}

// httpStatus are the HTTP codes of gRPC's, as Google's APIs map them. Others are 500.
var httpStatus = map[codes.Code]int{
	codes.InvalidArgument: 400, codes.FailedPrecondition: 400, codes.OutOfRange: 400, codes.Unauthenticated: 401, codes.PermissionDenied: 403,
	codes.NotFound: 404, codes.AlreadyExists: 409, codes.Aborted: 409, codes.ResourceExhausted: 429, codes.Canceled: 499, codes.Unimplemented: 501,
	codes.Unavailable: 503, codes.DeadlineExceeded: 504,
}

// HTTPStatus is the HTTP code of one of gRPC's.
func HTTPStatus(c codes.Code) int {
	if known, ok := httpStatus[c]; ok {
		return known
	}
	return http.StatusInternalServerError
}

func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	st := status.Convert(err)
	return &problem{status: HTTPStatus(st.Code()), message: st.Message()}
}

// A call is a call under way, and its answer.
type call struct {
	w     http.ResponseWriter
	r     *http.Request
	rc    *http.ResponseController
	began time.Time
	api   *API

	ctx      context.Context
	hold     *account.Hold
	taken    int      // bytes that the request takes, see takes
	arriving int      // bytes of the body that is not decoded
	body     *counted // nil until it is read
	name     string   // of the table
	table    *catalog.Table
	declared schema.Table // the table's, nil families when the call needs no table
	status   int
	strings  bool // numbers that JSON cannot carry exactly are strings

	buf     *[]byte
	started bool // a part of the answer was sent
	sent    int64
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxKept is the size up to which a buffer is used again.
const maxKept = 128 << 10

// begin starts a call with the headers of every answer.
func (a *API) begin(w http.ResponseWriter, r *http.Request) *call {
	h := w.Header()
	h.Set("X-Server", server())
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Access-Control-Allow-Origin", "*") // other origins than those that may are refused
	h.Set("X-Content-Type-Options", "nosniff")
	return &call{w: w, r: r, rc: http.NewResponseController(w), began: time.Now(), api: a}
}

// server is the header x-server.
var server = sync.OnceValue(func() string {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	return "smolwc " + version
})

// run carries the call out, in the guard's context.
func (c *call) run(ctx context.Context, a *API, do func(*API, *call) error) error {
	c.buf = buffers.Get().(*[]byte)
	c.ctx, c.hold = account.Holding(ctx)
	defer c.hold.Release()
	err := c.parameters()
	if err == nil {
		err = do(a, c)
	}
	if err == nil {
		c.put(`,"status":`).int(int64(c.status)).put(`,"time_ms":`).int(c.millis()).put("}\n")
		err = c.flush(true)
	}
	return catalog.Status(ctx, err)
}

// parameters reads the URL's parameters.
func (c *call) parameters() error {
	switch n := c.r.URL.Query().Get("numbers"); n {
	case "", "numbers":
	case "strings":
		c.strings = true
	default:
		return wrongAt("", "the parameter numbers is %q; want strings, or leave it out", short(n))
	}
	return nil
}

// answer begins the answer of a successful call: the result follows.
func (c *call) answer(message string) *call {
	return c.put(`{"message":`).quote(message).put(`,"result":`)
}

func (c *call) millis() int64 { return time.Since(c.began).Milliseconds() }
func (c *call) micros() int64 { return time.Since(c.began).Microseconds() }

func (c *call) put(s string) *call {
	*c.buf = append(*c.buf, s...)
	return c
}

func (c *call) int(n int64) *call {
	*c.buf = strconv.AppendInt(*c.buf, n, 10)
	return c
}

func (c *call) bool(b bool) *call {
	*c.buf = strconv.AppendBool(*c.buf, b)
	return c
}

// quote appends text. Bytes that are not UTF-8 become replacement characters, so it is
// not for keys and qualifiers.
func (c *call) quote(s string) *call {
	*c.buf, _ = jsontext.AppendQuote(*c.buf, s)
	return c
}

// partSize is the size of the parts of an answer. An answer that fits into one part is
// sent with its length, and with an error's status when it fails late.
const partSize = 256 << 10

// part sends the answer so far, if it is enough for a part.
func (c *call) part() error {
	n := len(*c.buf)
	if n < partSize/4 {
		return nil
	}
	if err := c.hold.Message(cap(*c.buf)); err != nil || n < partSize {
		return err
	}
	return c.flush(false)
}

// flush sends the answer so far. The client must take it within the send timeout.
func (c *call) flush(last bool) error {
	if !c.started {
		h := c.w.Header()
		h.Set("X-Took-Ms", strconv.FormatInt(c.millis(), 10))
		if last {
			h.Set("Content-Length", strconv.Itoa(len(*c.buf)))
		}
		c.started = true
		c.w.WriteHeader(c.status)
	}
	_ = c.rc.SetWriteDeadline(time.Now().Add(c.api.SendTimeout)) // handlers of tests have no deadlines
	n, err := c.w.Write(*c.buf)
	c.sent += int64(n)
	*c.buf = (*c.buf)[:0]
	if err != nil {
		return status.Error(codes.Unavailable, "the client does not take the answer: "+err.Error())
	}
	return nil
}

// end gives the buffer back.
func (c *call) end() {
	if cap(*c.buf) <= maxKept {
		*c.buf = (*c.buf)[:0]
		buffers.Put(c.buf)
	}
}

// refuse answers with err; it reports true, and does nothing, without an error.
func (c *call) refuse(err error) bool {
	if err != nil {
		c.fail(err)
	}
	return err == nil
}

// fail answers with an error. When a part of the answer was sent, it closes the
// connection instead, so that the client does not take the part for the whole.
func (c *call) fail(err error) {
	if c.started {
		panic(http.ErrAbortHandler)
	}
	p := problemOf(err)
	c.buf = new([]byte)
	c.status = p.status
	c.put(`{"message":`).quote(p.message)
	if p.detail != "" {
		c.put(`,"detail":`).quote(p.detail)
	}
	c.put(`,"result":null,"status":`).int(int64(p.status)).put(`,"time_ms":`).int(c.millis()).put("}\n")
	if p.status == http.StatusRequestEntityTooLarge || c.body != nil && c.body.err != nil {
		c.w.Header().Set("Connection", "close") // the rest of the body is not read
	}
	if p.status == http.StatusUnauthorized {
		c.w.Header().Set("WWW-Authenticate", "Bearer")
	}
	_ = c.flush(true) // fails if the client is gone
}
