package jsonapi

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/excerpt"
)

// maxBody is the size of a request's body, Smoltable's.
const maxBody = 10 << 20

// A body decodes the body of a request as it arrives. Names that it does not know, names
// given twice, and text that is not UTF-8 are errors, which say where they are.
type body struct {
	*jsontext.Decoder
	count *counted
}

// newBody is the body of a call. Its errors are problems.
func (c *call) newBody() (*body, error) {
	if c.r.ContentLength > maxBody {
		return nil, tooLarge()
	}
	if e := c.r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, &problem{http.StatusUnsupportedMediaType, "Unsupported content encoding", "the body has the encoding " + e + "; send it without one"}
	}
	c.body = &counted{from: http.MaxBytesReader(c.w, c.r.Body, maxBody), limit: c.limitRead, ctx: c.ctx}
	b := decode(c.body)
	c.body.hold = func(arrived int64) error { return c.arrives(arrived - b.InputOffset()) }
	return b, nil
}

// arrives counts the bytes of the body that are not decoded yet. The decoder's buffer
// grows by copying.
func (c *call) arrives(n int64) error {
	const copies = 3
	c.arriving = copies * int(n)
	return c.takes(c.taken)
}

// limitRead limits a read of the body, until done is called: it ends with the send
// timeout, or with the call.
func (c *call) limitRead() (done func()) {
	_ = c.rc.SetReadDeadline(time.Now().Add(c.api.SendTimeout)) // handlers of tests have no deadlines
	ended := make(chan struct{})
	stop := context.AfterFunc(c.ctx, func() {
		defer close(ended)
		_ = c.rc.SetReadDeadline(time.Unix(1, 0)) // long ago
	})
	return func() {
		if !stop() {
			<-ended
		}
		_ = c.rc.SetReadDeadline(time.Time{}) // or it would end the call, which the server reads on for
	}
}

func decode(from *counted) *body { return &body{jsontext.NewDecoder(from), from} }

func tooLarge() error {
	return &problem{http.StatusRequestEntityTooLarge, "Payload too large", fmt.Sprintf("a body has up to %d bytes; divide the request", maxBody)}
}

// takes counts the bytes that a request takes in memory.
func (c *call) takes(n int) error {
	c.taken = n
	err := c.hold.Message(n + c.arriving)
	if status.Code(err) == codes.FailedPrecondition { // there will never be room
		return &problem{http.StatusRequestEntityTooLarge, "Payload too large", "the request takes more memory than the server has for it; divide it"}
	}
	return err
}

// A counted reads a body, and separates errors of reading from errors of decoding.
type counted struct {
	from  io.Reader
	limit func() (done func()) // each read; nil: no limit
	ctx   context.Context      // of the call; nil without a limit
	err   error

	arrived int64
	hold    func(arrived int64) error // counts the bytes that have arrived; nil: they are not counted
	full    error                     // there is no room for them
}

func (r *counted) Read(b []byte) (n int, err error) {
	if r.limit != nil {
		defer r.limit()()
		if r.err = r.ctx.Err(); r.err != nil {
			return 0, r.err
		}
	}
	if r.hold != nil {
		if r.full = r.hold(r.arrived + int64(len(b))); r.full != nil {
			r.err = r.full
			return 0, r.err
		}
	}
	n, err = r.from.Read(b)
	r.arrived += int64(n)
	if errors.Is(err, os.ErrDeadlineExceeded) && r.ctx != nil {
		err = cmp.Or(r.ctx.Err(), err)
	}
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// where is the place of the value that was read last: items[0].cells[2].value.
func (b *body) where() string { return pathOf(b.StackPointer()) }

func pathOf(p jsontext.Pointer) string {
	var path strings.Builder
	for token := range p.Tokens() {
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "":
			path.WriteString("[" + token + "]")
		case path.Len() > 0:
			path.WriteString("." + excerpt.Of(token))
		default:
			path.WriteString(excerpt.Of(token))
		}
	}
	return path.String()
}

// wrong is a value that is not as it should be.
func (b *body) wrong(format string, args ...any) error {
	return wrongAt(b.where(), format, args...)
}

// wrongField is wrong about a field of the object that was read last.
func (b *body) wrongField(name, format string, args ...any) error {
	where := name
	if of := b.where(); of != "" {
		where = of + "." + name
	}
	return wrongAt(where, format, args...)
}

func wrongAt(where, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if where != "" {
		text = where + ": " + text
	}
	return &problem{status: http.StatusBadRequest, message: "Invalid request: " + text}
}

// broken is the problem of a body that cannot be read, or is not JSON.
func (b *body) broken(err error) error {
	if b.count.full != nil {
		return b.count.full
	}
	if _, ok := errors.AsType[*http.MaxBytesError](b.count.err); ok {
		return tooLarge()
	}
	if errors.Is(b.count.err, context.Canceled) || errors.Is(b.count.err, context.DeadlineExceeded) {
		return b.count.err // the call ended
	}
	if errors.Is(b.count.err, os.ErrDeadlineExceeded) {
		return &problem{http.StatusRequestTimeout, "Request timeout", "the body did not arrive in time"}
	}
	if b.count.err != nil {
		return &problem{status: http.StatusBadRequest, message: "Invalid request: the body did not arrive whole"}
	}
	at, where := b.InputOffset(), b.where()
	why := err
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at, where, why = s.ByteOffset, pathOf(s.JSONPointer), s.Err
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return wrongAt(where, "the field is given twice")
	}
	text := strings.TrimPrefix(why.Error(), "jsontext: ")
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		text = "it ends too early"
		if at == 0 {
			text = "it is empty"
		}
	}
	if where != "" {
		where = ", in " + where
	}
	return &problem{status: http.StatusBadRequest, message: fmt.Sprintf("Invalid request: the body is not JSON: %s, at byte %d%s", text, at, where)}
}

func kindOf(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	}
	return "an array"
}

// next reads a token of a kind.
func (b *body) next(kind jsontext.Kind) (jsontext.Token, error) {
	got := b.PeekKind()
	t, err := b.ReadToken()
	if err != nil {
		return t, b.broken(err)
	}
	if got != kind {
		return t, b.wrong("want %s, got %s", kindOf(kind), kindOf(got))
	}
	return t, nil
}

// fields reads an object. field reads the value of the field of a name, or reports false
// if there is no such field; names are all fields, for the error.
func (b *body) fields(names string, field func(name string) (bool, error)) error {
	if _, err := b.next('{'); err != nil {
		return err
	}
	for b.PeekKind() == '"' {
		t, err := b.ReadToken()
		if err != nil {
			return b.broken(err)
		}
		known, err := field(t.String())
		if err != nil {
			return err
		}
		if !known {
			return b.wrong("there is no such field; the fields are %s", names)
		}
	}
	_, err := b.next('}')
	return err
}

// elements reads an array; element reads one element.
func (b *body) elements(element func() error) error {
	if _, err := b.next('['); err != nil {
		return err
	}
	for b.PeekKind() != ']' {
		if b.PeekKind() == 0 { // broken or at its end
			_, err := b.ReadToken()
			return b.broken(err)
		}
		if err := element(); err != nil {
			return err
		}
	}
	_, err := b.next(']')
	return err
}

// optional reads a value, or null in its place.
func (b *body) optional(value func() error) error {
	if b.PeekKind() == 'n' {
		_, err := b.next('n')
		return err
	}
	return value()
}

// whole reads an optional whole number from 0.
func (b *body) whole(to *int64, most int64) error {
	return b.optional(func() error {
		t, err := b.next('0')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(t.String(), 10, 64)
		if err != nil || n < 0 || n > most {
			return b.wrong("want a whole number from 0 to %d, got %s", most, short(t.String()))
		}
		*to = n
		return nil
	})
}

func (b *body) typeName(to *cells.Type) error {
	var name string
	if err := b.text(&name); err != nil {
		return err
	}
	t, ok := typeNames[name]
	if !ok {
		return b.wrong("there is no type %q; the types are %s", short(name), allTypes)
	}
	*to = t
	return nil
}

// bytes reads a string of base64.
func (b *body) bytes(to *string) error {
	var text string
	if err := b.text(&text); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return b.wrong("want base64 with padding: %v", err)
	}
	*to = string(raw)
	return nil
}

func (b *body) text(to *string) error {
	t, err := b.next('"')
	if err == nil {
		*to = t.String()
	}
	return err
}

func (b *body) boolean(to *bool) error {
	got := b.PeekKind()
	t, err := b.ReadToken()
	if err != nil {
		return b.broken(err)
	}
	if got != 't' && got != 'f' {
		return b.wrong("want true or false, got %s", kindOf(got))
	}
	*to = t.Bool()
	return nil
}

// end checks that nothing follows the value of the body.
func (b *body) end() error {
	_, err := b.ReadToken()
	if err == io.EOF && b.count.err == nil {
		return nil
	}
	if err != nil {
		return b.broken(err)
	}
	return &problem{status: http.StatusBadRequest, message: fmt.Sprintf("Invalid request: something follows the value of the body, at byte %d", b.InputOffset())}
}

// A scalar is a string, number or boolean, or null, whose meaning depends on a type that
// may come after it.
type scalar struct {
	kind jsontext.Kind
	text string // of a string, or a number's digits
}

func (b *body) scalar(to *scalar) error {
	kind := b.PeekKind()
	t, err := b.ReadToken()
	if err != nil {
		return b.broken(err)
	}
	if kind == '{' || kind == '[' {
		return b.wrong("want a value, got %s", kindOf(kind))
	}
	*to = scalar{kind, t.String()}
	return nil
}
