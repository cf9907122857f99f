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

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/server/sql/value"
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
			made, err = formatted(args[0], value.InMinutes(at.Time().In(zone)), "")
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
