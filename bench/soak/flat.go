package soak

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/smolwc/smolwc/bench/machine"
	"github.com/smolwc/smolwc/bench/stats"
	"github.com/smolwc/smolwc/query"
)

// flatness is a process's memory and number of open files over time.
//
// In the first third of a run caches fill, and the data reaches its final size. The
// median of the last third may exceed the median of the second third by a tenth and
// some slack.
type flatness struct {
	memory, files []float64
}

const (
	memorySlack  = 16 // MiB
	filesSlack   = 16
	leastSamples = 60 // fewer samples are not judged

	// leastDuration is the shortest run that is judged: a shorter run may still be
	// warming up at its end, especially on a slow machine, where it takes longer than
	// planned.
	leastDuration = 10 * time.Second
)

// A verdict says whether a figure stayed within its limit.
type verdict struct {
	what          string
	judged        bool
	before, after float64 // medians
	most          float64 // the limit of after
}

func (f *flatness) judge() (memory, files verdict) {
	return judge("memory in MiB", f.memory, memorySlack), judge("open files", f.files, filesSlack)
}

func judge(what string, samples []float64, slack float64) verdict {
	v := verdict{what: what}
	if len(samples) < leastSamples {
		return v
	}
	third := len(samples) / 3
	v.judged, v.before, v.after = true, stats.Median(samples[third:2*third]), stats.Median(samples[2*third:])
	v.most = v.before + v.before/10 + slack
	return v
}

func (v verdict) String() string {
	if !v.judged {
		return v.what + ": too short a time to tell whether it grows"
	}
	return fmt.Sprintf("%s: %.0f in the second third, %.0f in the last; up to %.0f is flat", v.what, v.before, v.after, v.most)
}

func (v verdict) err() error {
	if v.judged && v.after > v.most {
		return fmt.Errorf("%s grows: %.0f in the second third of the run, %.0f in the last, and up to %.0f would be flat", v.what, v.before, v.after, v.most)
	}
	return nil
}

// openFiles returns the number of open files of the process, or 0 if it is unknown.
func openFiles() int {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(open)
}

// report samples the process and prints a line each interval.
func (s *soak) report(ctx context.Context, rng *rand.Rand) error {
	if !s.pause(ctx, rng, 1) {
		return nil
	}
	if s.Duration >= leastDuration {
		s.flat.memory = append(s.flat.memory, float64(machine.ResidentBytes()>>20))
		s.flat.files = append(s.flat.files, float64(openFiles()))
	}
	if time.Since(s.last.at) < s.Interval {
		return nil
	}
	return s.tolerant(func(db *query.DB) error { return s.line(ctx, db) })
}

// A reportLine holds the time and the counts of a line of the report.
type reportLine struct {
	at            time.Time
	writes, reads int64
}

// line prints the counts since the last line.
func (s *soak) line(ctx context.Context, db *query.DB) error {
	stats, err := db.Stats(ctx)
	if err != nil {
		return err
	}
	now := reportLine{time.Now(), s.counts.writes.Load(), s.counts.reads.Load()}
	passed := now.at.Sub(s.last.at).Seconds()
	if s.last.writes == 0 {
		if _, err := fmt.Fprintf(s.Out, "%8s %9s %8s %7s %6s %6s %9s %7s %7s %8s\n", "time", "writes/s", "reads/s", "rss MiB", "files", "reads", "disk MiB", "stalls", "opened", "backups"); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(s.Out, "%8s %9.0f %8.0f %7d %6d %6s %9d %7d %7d %8d\n", time.Since(s.began).Round(time.Second),
		float64(now.writes-s.last.writes)/passed, float64(now.reads-s.last.reads)/passed, machine.ResidentBytes()>>20, openFiles(),
		fmt.Sprintf("%d/%d", stats.Open.Cursors, stats.Open.Snapshots), diskBytes(s.Dir)>>20, stats.Stalls.Count,
		s.counts.opens.Load(), s.counts.backups.Load())
	s.last = now
	return err
}

// diskBytes returns the size of the files of a directory. Files that disappear
// meanwhile are not counted.
func diskBytes(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
