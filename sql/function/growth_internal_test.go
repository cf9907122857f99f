//go:build linux

package function

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/value"
)

// longTexts are values of about n bytes, each long in another way.
var longTexts = map[string]func(n int) string{
	"letters":   func(n int) string { return strings.Repeat("aB", n/2) },
	"accents":   func(n int) string { return strings.Repeat("e\u0301\u0327", n/5) },
	"spaces":    func(n int) string { return strings.Repeat(" ", n) },
	"digits":    func(n int) string { return strings.Repeat("7", n) },
	"no UTF-8":  func(n int) string { return strings.Repeat("\xff", n) },
	"list":      func(n int) string { return "[" + strings.Repeat("1,", n/2) + "1]" },
	"object":    func(n int) string { return "{" + strings.Repeat(`"b":1,`, n/6) + `"a":1}` },
	"text":      func(n int) string { return `"` + strings.Repeat(`\n`, n/2) + `"` },
	"no list":   func(n int) string { return strings.Repeat("[", n) },
	"separated": func(n int) string { return strings.Repeat("a,", n/2) },
}

// A value that is eight times as long takes about eight times the time, in each argument of
// each function: 64 times would not be linear time.
func TestFunctionsTakeLinearTime(t *testing.T) {
	runtime.LockOSThread() // whose time is taken
	defer runtime.UnlockOSThread()
	least := func(f *Function, args []any, rounds int) time.Duration {
		best := time.Hour
		for range rounds {
			began := processorTime(t)
			_, _ = f.call(t.Context(), args)
			best = min(best, processorTime(t)-began)
		}
		return max(best, time.Millisecond) // less says nothing; what is not linear takes seconds
	}
	for _, name := range Names() {
		for _, f := range Named(name) {
			for at := range f.Args {
				for shape, text := range longTexts {
					short, long := shortArgs(f, at, text(8<<10)), shortArgs(f, at, text(64<<10))
					if short == nil {
						continue
					}
					for try := 1; ; try++ {
						a, b := least(f, short, try), least(f, long, try)
						if b < 30*a {
							break
						}
						if try == 8 {
							t.Errorf("%s, argument %d, %s: %v, and %v for 8 times as many bytes", f.Text, at+1, shape, a, b)
							break
						}
					}
				}
			}
		}
	}
}

// shortArgs are arguments, a text among them; nil: the function takes no text there.
func shortArgs(f *Function, at int, text string) []any {
	args := make([]any, len(f.Args))
	for i, typ := range f.Args {
		switch typ.Kind {
		case value.TypeString:
			args[i] = "a"
		case value.TypeBytes:
			args[i] = []byte("a")
		case value.TypeInt64:
			args[i] = int64(1)
		case value.TypeFloat32:
			args[i] = float32(1)
		case value.TypeFloat64:
			args[i] = 1.0
		case value.TypeBool:
			args[i] = true
		case value.TypeDate:
			args[i] = value.Date(1)
		case value.TypeTimestamp:
			args[i] = cells.Timestamp(1)
		case value.TypeJSON:
			args[i] = value.JSON(`{"a":[1,null]}`)
		default:
			return nil
		}
	}
	switch f.Args[at].Kind {
	case value.TypeString:
		args[at] = text
	case value.TypeBytes:
		args[at] = []byte(text)
	case value.TypeJSON:
		j, err := value.ParseJSON(context.Background(), text, true)
		if err != nil {
			return nil
		}
		args[at] = j
	default:
		return nil
	}
	return args
}

// processorTime is the time that this thread has had of a processor. Other work on the
// machine does not count.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		t.Fatal(err)
	}
	return time.Duration(at.Nano())
}
