package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/cli/internal/config"
	"github.com/smolwc/smolwc/query"
)

func TestDurationsOfTheJSONLogHaveAUnit(t *testing.T) {
	var out bytes.Buffer
	r := &serveRun{command: &command{stderr: &out}, logFormat: "json"}
	r.serveLogger(&config.Config{}).Info("call", "duration", 1500*time.Microsecond, "code", "OK")
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line["duration_seconds"] != 0.0015 || line["duration"] != nil || line["code"] != "OK" {
		t.Errorf("%v", line)
	}
}

// The errors of databases and calls that a server logs have no row keys and values, unless
// the log is to have data.
func TestErrorsInTheLogHaveNoData(t *testing.T) {
	errs := []error{
		&query.Error{Op: "apply", Table: "t", Row: "secret", Kind: query.KindInvalidArgument, Err: errors.New(`f:"secret" is 'secret'`)},
		status.Error(codes.NotFound, `there is no row "secret \"secret\""`),
		fmt.Errorf("at the primary: %w", &query.Error{Op: "scan", Row: "secret"}),
	}
	for _, format := range []string{"text", "json"} {
		for _, logData := range []bool{false, true} {
			for _, err := range errs {
				var out bytes.Buffer
				r := &serveRun{command: &command{stderr: &out}, logFormat: format, logData: logData}
				r.serveLogger(&config.Config{}).Warn("views fall behind", "error", err)
				if strings.Contains(out.String(), "secret") != logData {
					t.Errorf("%s, with data %v: %s", format, logData, out.String())
				}
			}
			var out bytes.Buffer
			r := &serveRun{command: &command{stderr: &out}, logFormat: format}
			r.serveLogger(&config.Config{}).Warn("no file", "error", &fs.PathError{Op: "open", Path: "name", Err: errors.New(`"why"`)})
			if !strings.Contains(out.String(), "why") {
				t.Errorf("%s: %s", format, out.String())
			}
		}
	}
}
