package kept

import (
	"context"

	"github.com/smolwc/smolwc/cf"
)

const (
	recentBytes = 256 << 10 // of the records of Last, about
	recentLogs  = 8         // in which Last looks for more than one record
)

// Logs are the logs of a store, from the oldest one on.
type Logs struct {
	Count int
	// First returns the first change of a log, if there is one.
	First func(i int) (first uint64, ok bool, err error)
	Open  func(after cf.Position) (cf.Log, error)
	// Own reports whether a record is the store's own, found in no other store. If Own is
	// nil, no record is.
	Own func(*cf.LogRecord) (bool, error)
}

// Last are the last records that are not the store's own, one after the other.
func (l *Logs) Last(ctx context.Context) (last []*cf.LogRecord, err error) {
	for i := l.Count - 1; i >= 0; i-- {
		first, ok, err := l.First(i)
		var more []*cf.LogRecord
		enough := false
		if ok && err == nil {
			more, enough, err = l.after(ctx, cf.Position(first)-1)
		}
		switch {
		case err != nil && len(last) > 0:
			return last, nil // an older log is not needed
		case err != nil:
			return nil, err
		case len(more) > 0:
			last = more
		}
		if len(last) > 0 && (enough || i < l.Count-recentLogs) {
			break
		}
	}
	return last, nil
}

// after are the last records after a position that are not the store's own, as many as come
// one after the other. enough says that no earlier ones belong to them.
func (l *Logs) after(ctx context.Context, at cf.Position) (last []*cf.LogRecord, enough bool, err error) {
	log, err := l.Open(at)
	if err != nil {
		return nil, false, err
	}
	defer log.Close()
	for size, ended := 0, false; ; {
		r, err := log.Next(ctx)
		if r == nil || err != nil {
			return last, enough, err
		}
		own := false
		if l.Own != nil {
			if own, err = l.Own(r); err != nil {
				return nil, false, err
			}
		}
		if own {
			ended = true
			continue
		}
		if ended {
			last, size, ended, enough = nil, 0, false, true
		}
		last, size = append(last, r), size+len(r.Data)
		for len(last) > 1 && size > recentBytes {
			last, size, enough = last[1:], size-len(last[0].Data), true
		}
	}
}
