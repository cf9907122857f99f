package doctor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/internal/doctor"
)

func TestMessageLeavesDataOut(t *testing.T) {
	for text, want := range map[string]string{
		"it comes after 53454352, which is not less":                       "it comes …, which is not less",
		`unknown family "SECRET" in table t; "a"`:                          "unknown family …",
		"from 'SECRET' seq:1, type:22 .. 'SE'CRET' seq:0":                  "from … seq:0",
		"Corruption: corrupted key SECRET, then":                           "Corruption: corrupted key …",
		"user key: SECRET":                                                 "user key: …",
		"Generated table #14: 1 keys, 1406 bytes":                          "Generated table #14: 1 keys, 1406 bytes",
		"overlaps 5345435245545345435245 here":                             "overlaps … here",
		"value has 0x53":                                                   "value has …",
		"dial tikv://user:pass@pd:2379/name?tls-key=SECRET failed":         "dial tikv://…@pd:2379/name?… failed",
		"dial tikv://user:pa/ss@h@pd:2379/name failed":                     "dial tikv://…@pd:2379/name failed",
		"s3://key:sec?ret@bucket?x=SECRET":                                 "s3://…@bucket?…",
		"block checksum mismatch: stored = 3, in 000014.sst offset 0 size": "block checksum mismatch: stored = 3, in 000014.sst offset 0 size",
	} {
		if got := doctor.Message(text); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// Lines of RocksDB's log in the forms that 7.8 to 11 write.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	log := `2026/11/23-15:31:25.868184                         Options.error_if_exists: 0
2026/11/23-15:31:25.952749 [db/db_impl/db_impl_compaction_flush.cc:1756] [fleet/n] Manual flush finished, status: OK
2026/11/23-15:31:25.953600 EVENT_LOG_v1 {"time_micros": 1795447885953584, "job": 2, "event": "flush_started", "reason": "SECRET", "lsm_state": [1, 0], "flush_reason": "Manual Flush", "table_properties": {"x": "SECRET"}}
2026/11/23-15:31:25.975876 (Original Log Time 2026/11/23-15:31:25.975831) [db/db_impl/db_impl_compaction_flush.cc:3165] [fleet/n] Manual compaction from level-0 to level-6 from '534543' seq:72057594037927935, type:22 .. '02' seq:0, type:0; will stop at (end)
2026/11/23-15:31:26.000000 [ERROR] [db/error_handler.cc:282] Background error: Corruption: bad key SECRET
SECRET
2026/11/23-15:31:26.000000 SECRET
`
	if err := os.WriteFile(filepath.Join(dir, "LOG"), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	want := `2026/11/23-15:31:25.952749 [db/db_impl/db_impl_compaction_flush.cc:1756] [fleet/n] Manual flush finished, status: OK
2026/11/23-15:31:25.953600 {"event":"flush_started","flush_reason":"Manual Flush","job":2,"lsm_state":[1,0],"time_micros":1795447885953584}
2026/11/23-15:31:25.975876 [db/db_impl/db_impl_compaction_flush.cc:3165] [fleet/n] Manual compaction from level-0 to level-6 from … seq:0, type:0; will stop at (end)
2026/11/23-15:31:26.000000 [ERROR] [db/error_handler.cc:282] Background error: Corruption: bad key …
`
	if got := doctor.Log(dir); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := doctor.Log(t.TempDir()); !strings.Contains(got, "no such file") {
		t.Errorf("without a log: %s", got)
	}
}

func TestEnvironment(t *testing.T) {
	env := map[string]string{"SMOLWC_TOKEN": "SECRET", "GOGC": "50", "SMOLWC_DB": "tikv://u:SECRET@pd/x", "HOME": "SECRET"}
	got := doctor.Environment(func(name string) string { return env[name] }, "SMOLWC_TOKEN")
	if want := "GOGC=50\nSMOLWC_DB=tikv://…@pd/x\nSMOLWC_TOKEN is set\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
