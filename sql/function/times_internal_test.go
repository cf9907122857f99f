package function

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/walltime"
	"github.com/smolwc/smolwc/sql/value"
)

// Each line of the files is a call: a function, its arguments, and its result or error.
func TestFormatsOfTimesAreGoogleSQLs(t *testing.T) {
	files, err := filepath.Glob("testdata/times*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no tables: %v", err)
	}
	field := regexp.MustCompile(`"(?:\\.|[^"\\])*"|\S+`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			if line == "" || line[0] == '#' {
				continue
			}
			words := field.FindAllString(line, -1)
			for i, word := range words {
				if s, err := strconv.Unquote(word); err == nil {
					words[i] = s
				}
			}
			args, want := words[1:len(words)-1], words[len(words)-1]
			if got, err := timeCall(words[0], args); err != nil && want != "error" || err == nil && got != want {
				t.Errorf("%s:%d: %s: it is %q, %v", file, n+1, line, got, err)
			}
		}
	}
}

// timeCall is the result of a function, and for a time that it reads what is wanted
// when it is the same time.
func timeCall(name string, args []string) (result string, err error) {
	var made any
	zone := time.UTC
	if len(args) == 3 {
		if zone, err = value.Zone(args[2]); err != nil {
			return "", err
		}
	}
	switch name {
	case "format_date":
		var at any
		if at, err = value.Cast(args[1], value.TypeDate); err == nil {
			made, err = formatted(args[0], at.(value.Date).Time(), ofTimes)
		}
	case "format_timestamp":
		var at cells.Timestamp
		if at, err = value.ReadTimestamp(args[1], time.UTC); err == nil {
			made, err = formatted(args[0], walltime.InMinutes(at.Time().In(zone)), "")
		}
	case "parse_date", "parse_timestamp":
		without := ""
		if name == "parse_date" {
			without = ofTimes
		}
		var at time.Time
		if at, err = parsed(args[0], args[1], zone, without); err != nil {
			return "", err
		}
		if name == "parse_date" {
			made, err = value.DateOf(at)
		} else {
			var ts cells.Timestamp
			ts, err = value.TimestampOf(at)
			made = value.TimestampText(ts, time.UTC)
		}
	default:
		return "", fmt.Errorf("there is no function %s", name)
	}
	return fmt.Sprint(made), err
}

// What FORMAT_TIMESTAMP writes, PARSE_TIMESTAMP reads as the same time.
func TestFormattedTimesAreReadBack(t *testing.T) {
	formats := []string{
		"%Y-%m-%d %H:%M:%E6S%Ez", "%F %H:%M:%E*S %Z", "%A, %e %B %Y %I:%M:%E6S %p %z", "%j %Y %R:%E*S%Ez", "%a %G-W%V-%u %k %M %E6S %Z",
		"%G %J %H %M %E6S %z", "%w %Y %U %l %P %M %E*S %Z", "%Y %W %A %H:%M:%E6S %Ez", "%C%y %b %d %T%n%z",
	}
	zones := []string{"UTC", "Europe/Berlin", "America/Santiago", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia", "America/New_York", "+14:00", "UTC-3:30"}
	rapid.Check(t, func(t *rapid.T) {
		format, zone := rapid.SampledFrom(formats).Draw(t, "format"), rapid.SampledFrom(zones).Draw(t, "zone")
		from, to := time.Date(1, 1, 9, 0, 0, 0, 0, time.UTC).UnixMicro(), time.Date(9999, 12, 20, 0, 0, 0, 0, time.UTC).UnixMicro()
		if rapid.Bool().Draw(t, "recent") {
			from, to = 0, 2_000_000_000_000_000
		}
		ts := cells.Timestamp(rapid.Int64Range(from, to).Draw(t, "micros"))
		if strings.Contains(format, "%T") {
			ts -= (ts%1_000_000 + 1_000_000) % 1_000_000 // it has no fraction
		}
		in, err := value.Zone(zone)
		if err != nil {
			t.Fatal(err)
		}
		text, err := formatted(format, walltime.InMinutes(ts.Time().In(in)), "")
		if err != nil {
			t.Fatal(err)
		}
		if back, err := parsed(format, text.(string), time.UTC, ""); err != nil || cells.TimestampOf(back) != ts {
			t.Errorf("%v in %s is %q, and read back %v, %v", ts.Time().UTC(), zone, text, back.UTC(), err)
		}
	})
}

// Whatever the format and the text are, there is a time or an error.
func TestAnyFormatAndText(t *testing.T) {
	piece := rapid.SampledFrom([]string{"%", "E", "O", "*", "4", "0", "9", "-", "S", "Y", "y", "C", "m", "d", "j", "U", "W", "u", "V", "G", "J", "s", "Z", "z", "c", "r", "p", " ", "1", "23", "AM", "Jan", "Mon", "+", ":", "UTC", "é", "\x00", "\xff", "."})
	rapid.Check(t, func(t *rapid.T) {
		format := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "format"), "")
		text := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "text"), "")
		at, err := parsed(format, text, time.UTC, "")
		if err != nil {
			at = time.Unix(0, 0).UTC()
		}
		if _, err := formatted(format, at, ofTimes); err != nil && !strings.Contains(err.Error(), "width") {
			t.Error(err)
		}
	})
}
