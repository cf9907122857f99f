//go:build cgo

package rocks

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
)

// A reader gives up after this long and this many tries: a machine that sleeps, or
// has no time for the process, makes one take long.
const (
	openPatience = 10 * time.Second
	openTries    = 20
	openPause    = 5 * time.Millisecond
	// What a writer is about to finish gets this long while the files stay as they are.
	unfinishedPatience = 2 * time.Second
)

// steady reads the files of a database beside a writer if need be: it has try read
// them until they stay as they were meanwhile, and gives their stamp and the error of
// that try. A fault of any other try may be of the writer's making. If the files never
// stay, the error is of the kind ErrUnavailable.
func steady(ctx context.Context, dir string, patience time.Duration, try func() error) (stamp, error) {
	began, last := time.Now(), ""
	for n := 1; ; n++ {
		before := stampOf(dir)
		err := try()
		wait := patience
		if settled := before.settles(stampOf(dir), err, last); settled && !unfinished(err) {
			return before, err
		} else if settled {
			wait = min(wait, unfinishedPatience)
		}
		if ctx.Err() != nil {
			return stamp{}, ctx.Err()
		}
		if n >= openTries && time.Since(began) > wait {
			return stamp{}, tooBusy(err)
		}
		last = ""
		if err != nil {
			last = err.Error()
		}
		time.Sleep(openPause)
	}
}

// errTooBusy: the files did not stay as they were for the length of an opening.
var errTooBusy = fmt.Errorf("the writer changes files faster than they can be opened; try again: %w", cf.ErrUnavailable)

// tooBusy is the error after the last try, which may have found a fault; the kind of
// that does not count.
func tooBusy(fault error) error {
	switch {
	case fault == nil:
		return errTooBusy
	case unfinished(fault):
		return fault
	}
	return fmt.Errorf("%w (the last try: %v)", errTooBusy, fault)
}

// ErrCreating is the error of [OpenFollower] for a database that has nothing yet, no
// entry of a catalog either: a writer is creating it, or ended while it did. It matches
// [cf.ErrUnavailable].
var ErrCreating = fmt.Errorf("%w: it is being created; try again, or open it for writing, which finishes it", cf.ErrUnavailable)

// unfinished reports whether a writer is about to mend a fault.
func unfinished(err error) bool { return errors.Is(err, errHalfLoaded) || errors.Is(err, ErrCreating) }

// A stamp is what changes in a directory when a database is written.
type stamp struct {
	current  string           // the name of the manifest
	manifest int64            // its size
	logs     map[string]int64 // and theirs
	options  []string         // names of files that an opening reads, and the writer replaces
	synced   string           // the text of SYNCED
}

// stampOf never fails: what is wrong with a directory is for Open to say.
func stampOf(dir string) stamp {
	st := stamp{logs: map[string]int64{}}
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
	text, _ = os.ReadFile(filepath.Join(dir, syncedFile))
	st.synced = string(text)
	return st
}

// settles reports whether the outcome of a try between two stamps counts. Logs that
// grow do not matter to a try that went well. A fault may be what the writer was about
// to write, unless nothing was written or the try before met the same.
func (a stamp) settles(b stamp, err error, last string) bool {
	if err == nil || !a.sameFiles(b) {
		return a.sameFiles(b)
	}
	return a.synced == b.synced && (maps.Equal(a.logs, b.logs) || err.Error() == last)
}

// sameFiles reports whether the files of one moment can be read between two.
func (a stamp) sameFiles(b stamp) bool {
	for name := range a.logs {
		if _, still := b.logs[name]; !still {
			return false
		}
	}
	return a.current == b.current && a.manifest == b.manifest && slices.Equal(a.options, b.options)
}

func (a stamp) equal(b stamp) bool {
	return a.current == b.current && a.manifest == b.manifest && maps.Equal(a.logs, b.logs)
}
