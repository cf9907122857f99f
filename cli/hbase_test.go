package cli

import (
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hbaseGaps are the tests of HBase's suite that fail, and the reasons. The suite itself
// marks all of them but one as gaps of Bigtable and its client (KnownGap).
var hbaseGaps = map[string]string{
	"TestDisableTable.testDisable":                                     "tables are disabled in the memory of the client alone, which reads them all the same",
	"TestPutGetDelete.testGetWithNullValues":                           "wants other columns for one without a name; the emulator of Bigtable fails too",
	"Batches.testBatchWithException":                                   "wants a class of HBase for a family that there is not",
	"Puts.testMultiplePutsOneBadSameRow":                               "wants a class of HBase for a family that there is not",
	"Puts.testMultiplePutsOneBadDiffRows":                              "wants a class of HBase for a family that there is not",
	"Deletes.testDeleteLatestColumnVersion":                            "the client has no deletion of the latest version",
	"Deletes.testDeleteOlderFamilyColumns":                             "the client has no deletion of a family up to a time",
	"Deletes.testDeleteFamilyWithSpecificTimestamp":                    "the client has no deletion of a family at a time",
	"Filters.testColumnFilterScan":                                     "wants ColumnCountGetFilter, which is for gets, to end a scan after a row",
	"Filters.testColumnPaginationFilter_StartingAtParticularQualifier": "the client wants one family",
	"Filters.testRowFilterBinaryComparator":                            "the client compares keys by EQUAL alone",
	"Filters.testRowFilterBinaryPrefixComparator":                      "the client has no such comparator",
	"Filters.testRowFilterBitComparatorAND":                            "the client has no such comparator",
	"Filters.testRowFilterBitComparatorOR":                             "the client has no such comparator",
	"Filters.testRowFilterBitComparatorXOR":                            "the client has no such comparator",
	"Filters.testRowFilterNullComparator":                              "the client has no such comparator",
	"Filters.testRowFilterSubstringComparator":                         "the client has no such comparator",
	"Filters.testRowFilterRegexStringComparator":                       "the client compares keys by EQUAL alone",
	"Filters.testWhileMatchFilter_twoChained":                          "the client sends one WhileMatchFilter at most",
	"Filters.testWhileMatchFilter_twoInterleaves":                      "the client sends no WhileMatchFilter in MUST_PASS_ONE",
	"Filters.testWhileMatchFilter_twoNested":                           "a cell would have two labels, which Bigtable refuses",
}

// HBase's suite runs with the client bigtable-hbase-2.x; testdata/hbase/pom.xml has the versions:
//
//	make witness ARGS=HBase
func TestHBaseSuite(t *testing.T) {
	if os.Getenv("SMOLWC_SUITES") == "" {
		t.Skip("$SMOLWC_SUITES is not set")
	}
	needs(t, "Maven and Java", "mvn", "-v")
	project := t.TempDir()
	if err := os.CopyFS(project, os.DirFS(filepath.Join("..", "server", "testdata", "hbase"))); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, "--memory-only", "--instance", "projects/proj/instances/inst", "--log-level", "error")
	mvn := exec.CommandContext(t.Context(), "mvn", "-B", "-f", project, "test")
	mvn.Env = append(os.Environ(), "BIGTABLE_EMULATOR_HOST="+s.addr)
	out, err := mvn.CombinedOutput()
	for _, unfetched := range []string{"Could not resolve", "Could not transfer", "PluginResolutionException"} {
		if err != nil && strings.Contains(string(out), unfetched) {
			t.Skipf("Maven cannot fetch what the suite needs:\n%s", out)
		}
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	passed, skipped := 0, 0
	for _, c := range surefire(t, filepath.Join(project, "target", "surefire-reports")) {
		name := c.Class[strings.LastIndexAny(c.Class, ".$")+1:] + "." + c.Name
		why, known := hbaseGaps[name]
		switch {
		case c.Skipped != nil:
			skipped++
		case len(c.Failures) == 0 && known:
			t.Errorf("%s passes, but the list says: %s", name, why)
		case len(c.Failures) == 0:
			passed++
		case !known:
			t.Errorf("%s: %s", name, c.Failures)
		}
	}
	t.Logf("%d passed, %d are known to fail, the suite leaves %d out", passed, len(hbaseGaps), skipped)
	if passed < 100 {
		t.Errorf("of about 140 tests %d passed\n%s", passed, out)
	}
}

type surefireCase struct {
	Class    string    `xml:"classname,attr"`
	Name     string    `xml:"name,attr"`
	Failures []string  `xml:"failure"`
	Errors   []string  `xml:"error"`
	Skipped  *struct{} `xml:"skipped"`
}

// surefire reads the reports of Maven's plugin. A case's failures have its errors too.
func surefire(t *testing.T, dir string) (all []surefireCase) {
	files, err := filepath.Glob(filepath.Join(dir, "*.xml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var report struct {
			Cases []surefireCase `xml:"testcase"`
		}
		if err := xml.Unmarshal(text, &report); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, c := range report.Cases {
			c.Failures = append(c.Failures, c.Errors...)
			all = append(all, c)
		}
	}
	return all
}
