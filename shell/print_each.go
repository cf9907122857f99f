package shell

import (
	"iter"
	"sync"
	"time"

	"github.com/smolwc/smolwc/query"
)

// printEach prints rows of any kind with print, and then the end of the printer.
func printEach[R any](s *Session, rows iter.Seq2[R, error], printer interface{ end() error }, print func(R) error) error {
	s.out.flushed = s.out.flushed.Add(-flushEvery) // the first row is written at once
	var mu sync.Mutex                              // of the printer and the output
	stop := every(flushEvery, func() {
		mu.Lock()
		defer mu.Unlock()
		if p, ok := printer.(interface{ idle() error }); ok && !s.opt.Patient {
			_ = p.idle() // a write error stays in the output; the next row returns it
		}
		s.showHeld()
	})
	defer stop()
	for row, err := range rows {
		if err != nil {
			return err
		}
		mu.Lock()
		err = writeError(print(row))
		if err == nil {
			err = s.out.rowDone()
		}
		mu.Unlock()
		if err != nil {
			return err
		}
	}
	stop()
	return writeError(printer.end())
}

func (s *Session) showHeld() {
	_ = s.out.flush()
	_ = s.pager.Tick()
}

// every calls f at intervals until stop returns. stop may be called several times.
func every(d time.Duration, f func()) (stop func()) {
	ticker, quit, done := time.NewTicker(d), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ticker.C:
				f()
			case <-quit:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		ticker.Stop()
		close(quit)
		<-done
	})
}

type quietPrinter struct{}

func (quietPrinter) row(*query.Row) error { return nil }

func (quietPrinter) end() error { return nil }
