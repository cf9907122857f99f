// Package steady reads the files of a database beside its writer.
package steady

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/wal"
)

// A reader gives up after this time and this many tries: on a machine that sleeps or is
// busy, one try by itself may take long.
const (
	OpenPatience = 10 * time.Second
	openTries    = 20
	openPause    = 5 * time.Millisecond
	// unfinishedPatience is how long a writer may take to finish a load or a creation
	// while the files do not change.
	unfinishedPatience = 2 * time.Second
)

// Read calls try, which reads the files of a database, until the files stay the same
// during a try. It returns their stamp and the error of that try. A writer may have
// caused the errors of all other tries. If the files never stay the same, the error is
// of the kind ErrUnavailable.
func Read(ctx context.Context, dir string, patience time.Duration, try func() error) (Stamp, error) {
	began, last := time.Now(), ""
	for n := 1; ; n++ {
		before := StampOf(dir)
		err := try()
		wait := patience
		if settled := before.settles(StampOf(dir), err, last); settled && !unfinished(err) {
			return before, err
		} else if settled {
			wait = min(wait, unfinishedPatience)
		}
		if ctx.Err() != nil {
			return Stamp{}, ctx.Err()
		}
		if n >= openTries && time.Since(began) > wait {
			return Stamp{}, tooBusy(err)
		}
		last = ""
		if err != nil {
			last = err.Error()
		}
		time.Sleep(openPause)
	}
}

// ErrTooBusy: the files changed during every try.
var ErrTooBusy = fmt.Errorf("the writer changes files faster than they can be opened; try again: %w", cf.ErrUnavailable)

// tooBusy is the error after the last try. It does not have the kind of the last try's
// fault, which a writer may have caused.
func tooBusy(fault error) error {
	switch {
	case fault == nil:
		return ErrTooBusy
	case unfinished(fault):
		return fault
	}
	return fmt.Errorf("%w (the last try: %v)", ErrTooBusy, fault)
}

// ErrHalfLoaded: some families have their part of a load and others do not. A running
// writer finishes the load in a moment.
var ErrHalfLoaded = fmt.Errorf("%w: it is half done, and the database is opened for reading; opening it for writing finishes it", cf.ErrUnavailable)

// ErrCreating: see rocks.ErrCreating.
var ErrCreating = fmt.Errorf("%w: it is being created; try again, or open it for writing, which finishes it", cf.ErrUnavailable)

// unfinished reports whether a fault ends when a writer finishes its work.
func unfinished(err error) bool { return errors.Is(err, ErrHalfLoaded) || errors.Is(err, ErrCreating) }

// A Stamp is the part of a directory that changes when the database is written.
type Stamp struct {
	current  string           // the name of the manifest
	manifest int64            // its size
	logs     map[string]int64 // the sizes of the logs, by name
	options  []string         // names of the files of options, which an open reads and a writer replaces
	synced   string           // the text of SYNCED
}

// StampOf ignores errors: the open reports them.
func StampOf(dir string) Stamp {
	st := Stamp{logs: map[string]int64{}}
	text, _ := os.ReadFile(filepath.Join(dir, "CURRENT"))
	st.current = strings.TrimSpace(string(text))
	if info, err := os.Stat(filepath.Join(dir, st.current)); err == nil {
		st.manifest = info.Size()
	}
	st.options, _ = filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
	logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	for _, path := range logs {
		if info, err := os.Stat(path); err == nil {
			st.logs[filepath.Base(path)] = info.Size()
		}
	}
	text, _ = os.ReadFile(filepath.Join(dir, wal.SyncedFile))
	st.synced = string(text)
	return st
}

// settles reports whether the outcome of a try between two stamps counts. A success
// counts even if logs have grown. A fault counts only if nothing was written meanwhile,
// or if the try before had the same fault: otherwise it may come from a write under
// way.
func (a Stamp) settles(b Stamp, err error, last string) bool {
	if err == nil || !a.sameFiles(b) {
		return a.sameFiles(b)
	}
	return a.synced == b.synced && (maps.Equal(a.logs, b.logs) || err.Error() == last)
}

// sameFiles reports whether a try between two stamps read the files of one moment.
func (a Stamp) sameFiles(b Stamp) bool {
	for name := range a.logs {
		if _, still := b.logs[name]; !still {
			return false
		}
	}
	return a.current == b.current && a.manifest == b.manifest && slices.Equal(a.options, b.options)
}

func (a Stamp) Equal(b Stamp) bool {
	return a.current == b.current && a.manifest == b.manifest && maps.Equal(a.logs, b.logs)
}
