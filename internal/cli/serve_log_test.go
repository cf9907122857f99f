package cli

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/smolwc/smolwc/internal/config"
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
