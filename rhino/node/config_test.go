package node_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/rhino/node"
)

func TestTheExampleIsAConfiguration(t *testing.T) {
	c, err := node.LoadConfig("../../docs/examples/regions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	us := c.Regions[1]
	if len(c.Regions) != 3 || us.Name != "us-east-2" || us.Front.Listen != "127.0.0.1:3005" || us.DataDir != filepath.Join("regions", "us-east-2") {
		t.Errorf("%+v", c)
	}
	if c.Deadline != 2*time.Second || c.Memory != 64<<20 || c.Control.Address != "127.0.0.1:3003" {
		t.Errorf("%+v", c)
	}
}

const (
	goodControl = "control: {address: 127.0.0.1:1}\n"
	goodRegions = "regions:\n  - {name: a, front: 127.0.0.1:2, address: 127.0.0.1:3}\n"
	good        = goodControl + goodRegions
)

// Each fault has its line and its key, and says what would be right.
func TestConfigurationsWithFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "control.address: it is missing",
		"a: [":                        "malformed YAML",
		goodControl:                   "regions: want a list of 1 to 64 regions",
		goodRegions:                   "control.address: it is missing; want HOST:PORT",
		"secrte: x\n" + good:          `line 1: unknown key "secrte"; did you mean "secret"?`,
		"secret: short\n" + good:      "line 1: secret: it has 5 bytes; want at least 16",
		"secret: {a: b}\n" + good:     "line 1: secret: want a single value",
		"deadline: 1h\n" + good:       `line 1: deadline: "1h" is not a time from 50ms to 1m`,
		"deadline: [1s]\n" + good:     "line 1: deadline",
		"memory: 1MiB\n" + good:       `line 1: memory: "1MiB" is not a size of at least 16MiB`,
		"insecure: perhaps\n" + good:  `line 1: insecure: "perhaps" is neither true nor false`,
		"tls: {cert: a.pem}\n" + good: "line 1: tls: cert and key go together",
		"data_dir: []\n" + good:       "line 1: data_dir: want a single value",
		"data_dir: tikv://pd:2379/regions\n" + good:                                                  "line 1: data_dir: it is a URL; regions keep their databases in directories",
		good + "  - {name: b, front: 127.0.0.1:4, address: 127.0.0.1:5, data_dir: \"tikv://x/y\"}\n": "regions[1].data_dir: it is a URL",
		goodControl + "regions: 5\n":                                                                 "line 2: regions: want a list",
		goodControl + "regions: [5]\n":                                                               "line 2: regions[0]: want a mapping",
		good + "  - {name: a, front: 127.0.0.1:4, address: 127.0.0.1:5, data_dir: b}\n":              `name "a" is that of regions[0] too`,
		good + "  - {name: b, front: 127.0.0.1:2, address: 127.0.0.1:5}\n":                           `listen address "127.0.0.1:2" is that of regions[0].front too`,
		good + "  - {name: b, front: 127.0.0.1:4, address: 127.0.0.1:5, data_dir: regions/a}\n":      `data_dir "regions/a" is that of regions[0] too`,
		good + "  - {name: control, front: 127.0.0.1:4, address: 127.0.0.1:5}\n":                     `line 4: regions[1].name: "control" is not a name of a region`,
		good + "  - {name: ../b, front: 127.0.0.1:4, address: 127.0.0.1:5}\n":                        `"../b" is not a name of a region`,
		good + "  - {name: b, front: nowhere, address: 127.0.0.1:5}\n":                               `line 4: regions[1].front: "nowhere" is not HOST:PORT`,
		good + "  - {name: b, front: 127.0.0.1:4}\n":                                                 "line 4: regions[1].address: it is missing",
		good + "  - {name: b, front: 127.0.0.1:4, address: 10.0.0.1:5}\n":                            "regions[1]: other machines reach 10.0.0.1:5; give tls, or insecure: true",
		"insecure: true\n" + good + "  - {name: b, front: 127.0.0.1:4, address: 10.0.0.1:5}\n":       "secret: it is missing",
	} {
		_, err := node.ParseConfig([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "r.yaml")
	if err := os.WriteFile(path, []byte("secret: short\n"+good), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := node.LoadConfig(path); err == nil || !strings.HasPrefix(err.Error(), path+":1: ") {
		t.Errorf("%v does not begin with the place", err)
	}
	if _, err := node.LoadConfig(path + ".no"); err == nil {
		t.Error("a missing file is read")
	}
}

func TestConfigurationOfOtherMachines(t *testing.T) {
	c, err := node.ParseConfig([]byte(`
secret: sixteen bytes or more
tls: {cert: a.pem, key: a.key, ca: ca.pem}
control: {address: "control.example.com:443", listen: "0.0.0.0:3003", data_dir: /data/control}
regions:
  - {name: a, address: "a.example.com:443", listen: ":3002", front: "a.example.com:444", front_listen: ":3001"}
`))
	if err != nil {
		t.Fatal(err)
	}
	if c.URL(c.Control.Address) != "wss://control.example.com:443" || c.Control.Listen != "0.0.0.0:3003" || c.Regions[0].Front.Listen != ":3001" {
		t.Errorf("%+v", c)
	}
}
