package console

import (
	"context"
	"sync"
	"time"

	"github.com/smolwc/smolwc/archive"
)

// A work was begun on a page, and goes on without the page.
type work struct {
	Name        string // "": nobody has begun any
	Began       time.Time
	Done, Total int64 // in bytes; Total is 0 until it is known
	Running     bool
	Result      string
	Failure     string
	Table       string // that it makes; "" for none

	token string // of the person
	stop  context.CancelFunc
}

// works is the work of pages, one at a time, and the last result of a verification.
type works struct {
	mu       sync.Mutex
	now      work
	verified *verified
	ended    bool
	running  sync.WaitGroup
}

// A verified is the result of the last verification that a page began.
type verified struct {
	archive.VerifyReport
	at   time.Time
	upTo int // the newest backup that it has read
}

// begin runs work, which ends by itself, by stop, or with the console. table is one that it makes, or "".
func (w *works) begin(token, name, table string, run func(context.Context, archive.Options) (string, error)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now.Running || w.ended {
		return invalid("other work on backups is under way; try again when it has ended")
	}
	ctx, stop := context.WithCancel(context.Background())
	w.now = work{Name: name, Table: table, Began: time.Now(), Running: true, token: token, stop: stop}
	w.running.Go(func() {
		defer stop()
		result, err := run(ctx, archive.Options{Report: w.report})
		w.mu.Lock()
		defer w.mu.Unlock()
		w.now.Running = false
		switch {
		case ctx.Err() != nil && err != nil:
			w.now.Failure = "stopped"
		case err != nil:
			w.now.Failure = err.Error()
		default:
			w.now.Result = result
		}
	})
	return nil
}

func (w *works) report(p archive.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.Done, w.now.Total = p.Done, p.Total
}

// of is the work of a person; nobody sees another's.
func (w *works) of(token string) work {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now.token != token {
		return work{}
	}
	return w.now
}

func (w *works) stop(token string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now.Running && w.now.token == token {
		w.now.stop()
	}
}

func (w *works) found(r *verified) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.verified = r
}

// lastVerified is the last result of a verification; nil without one.
func (w *works) lastVerified() *verified {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.verified
}

// end stops the work and waits for its end.
func (w *works) end() {
	w.mu.Lock()
	w.ended = true
	if w.now.stop != nil {
		w.now.stop()
	}
	w.mu.Unlock()
	w.running.Wait()
}
