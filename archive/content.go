package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/time/rate"

	"github.com/smolwc/smolwc/internal/bar"
)

// A content is a file to send to a bucket.
type content struct {
	path string
	size int64
	sum  Sum
	line *line
}

func (c content) open(ctx context.Context) (*outgoing, error) {
	f, err := os.Open(c.path)
	if err != nil {
		return nil, fileError(err)
	}
	return &outgoing{ctx: ctx, f: f, line: c.line}, nil
}

// An outgoing is a file that is being sent.
type outgoing struct {
	ctx  context.Context
	f    *os.File
	line *line

	mu   sync.Mutex
	sent int64
	over bool
}

func (o *outgoing) Read(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		return 0, os.ErrClosed
	}
	n, err := o.line.take(o.ctx, o.f, p)
	o.sent += int64(n)
	return n, err
}

// forget says that nothing of it was received, and ends the reading: after an early
// answer, what sends may still read.
func (o *outgoing) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.line.add(-o.sent)
	o.sent, o.over = 0, true
}

func (o *outgoing) Close() error { return o.f.Close() }

// A line carries the bytes of one operation: it bounds their rate, counts them,
// and reports progress.
type line struct {
	limiter *rate.Limiter // nil: no bound
	report  func(Progress)

	mu   sync.Mutex
	bar  *bar.Bar
	done Progress
}

// lineBurst is how many bytes pass at once.
const lineBurst = 64 << 10

// newLine makes the line of an operation of total bytes. Call finish at its end.
func newLine(o Options, title string, total int64) *line {
	l := &line{report: o.Report, bar: bar.OfBytes(o.Progress, title, total), done: Progress{Total: total}}
	if o.Rate > 0 {
		l.limiter = rate.NewLimiter(rate.Limit(o.Rate), lineBurst)
	}
	l.add(0)
	return l
}

func (l *line) take(ctx context.Context, r io.Reader, p []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if l.limiter != nil && len(p) > lineBurst {
		p = p[:lineBurst]
	}
	n, err := r.Read(p)
	if n > 0 && l.limiter != nil {
		if e := l.limiter.WaitN(ctx, n); e != nil { // also when it sees that it would wait for too long
			return n, cmp.Or(ctx.Err(), context.DeadlineExceeded)
		}
	}
	l.add(int64(n))
	return n, err
}

func (l *line) add(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done.Done += n
	l.bar.Set(l.done.Done)
	if l.report != nil {
		l.report(l.done)
	}
}

func (l *line) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bar.Finish()
}

// A measured reads data from a bucket and computes its checksum.
type measured struct {
	ctx  context.Context
	r    io.Reader
	line *line
	hash hash.Hash
	n    int64
}

func (m *measured) Read(p []byte) (int, error) {
	n, err := m.line.take(m.ctx, m.r, p)
	m.hash.Write(p[:n])
	m.n += int64(n)
	return n, err
}

var buffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// copyAll is io.Copy, with a buffer of a size that suits disks and networks.
func copyAll(w io.Writer, r io.Reader) (int64, error) {
	buf := buffers.Get().(*[256 << 10]byte)
	defer buffers.Put(buf)
	return io.CopyBuffer(struct{ io.Writer }{w}, r, buf[:]) // not w.ReadFrom, whose buffer may be small
}

// readObject reads an object to its end into w, and reports content that does not
// match its name.
func (a *Archive) readObject(ctx context.Context, sum Sum, size int64, l *line, w io.Writer) error {
	return copyObject(ctx, a.bucket, objectKey(sum), sum, size, l, w)
}

func copyObject(ctx context.Context, b bucket, key string, sum Sum, size int64, l *line, w io.Writer) error {
	r, err := b.open(ctx, key)
	if errors.Is(err, errNoObject) {
		return &DamageError{Object: key, Problem: "it is missing"}
	}
	if err != nil {
		return err
	}
	defer r.Close()
	m := &measured{ctx: ctx, r: r, line: l, hash: sha256.New()}
	if _, err := copyAll(w, m); err != nil {
		l.add(-m.n) // it does not count
		return fileError(err)
	}
	switch got := Sum(m.hash.Sum(nil)); {
	case got == sum && (size < 0 || m.n == size):
		return nil
	case size >= 0 && m.n != size:
		return &DamageError{Object: key, Problem: fmt.Sprintf("it has %d bytes and should have %d", m.n, size)}
	default:
		return &DamageError{Object: key, Problem: fmt.Sprintf("its content has the SHA-256 %s", got)}
	}
}

// tailSize is how many bytes at the end of a file tailOf reads.
const tailSize = 64 << 10

// tailOf is a checksum that identifies a file that the engine writes once among all files of
// its size, so that a file of an earlier backup need not be read again; nil for other files.
// It is the checksum of the file's end. A table file of RocksDB ends with properties: the
// session that wrote it, which is a random number, and the file's number in that session. A
// blob file, and a table file of Pebble (named), lacks them; its sum includes its name, which
// a directory gives once, the identity of the directory, since a standby and a restored
// database give names again, and the time at which it was written.
func tailOf(f *os.File, size int64, dir string, named bool) (*Sum, error) {
	h := sha256.New()
	switch ext := filepath.Ext(f.Name()); {
	case ext == ".sst" && !named:
	case ext == ".blob", ext == ".sst":
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(h, "%s %d %s\n", filepath.Base(f.Name()), info.ModTime().UnixNano(), strings.TrimSpace(dir))
	default:
		return nil, nil
	}
	from := max(0, size-tailSize)
	if _, err := io.Copy(h, io.NewSectionReader(f, from, size-from)); err != nil {
		return nil, err
	}
	sum := Sum(h.Sum(nil))
	return &sum, nil
}

func sumOf(ctx context.Context, f *os.File) (Sum, error) {
	m := &measured{ctx: ctx, r: f, line: &line{}, hash: sha256.New()}
	_, err := copyAll(io.Discard, m)
	return Sum(m.hash.Sum(nil)), err
}
