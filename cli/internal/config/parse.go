package config

import (
	"cmp"
	"log/slog"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/smolwc/smolwc/schema"
)

// keys are the file's keys, in the order in which messages list them.
var keys = []string{"data_dir", "engine", "durability", "memory", "background_rate", "log_level", "tables"}

// parse reads the text of a file.
func parse(text []byte) (*Config, error) {
	root, err := schema.ParseYAML(text)
	if err != nil {
		return nil, err
	}
	values, faults := schema.CheckKeys(root, "", keys)
	var tables *schema.Schema
	if values["tables"] != nil {
		// The strict reader of tables looks at the keys beside them, too.
		tables, err = schema.Parse(text)
		faults = faultsOf(err)
	}
	texts, more := settingTexts(values)
	faults = append(faults, more...)
	s, err := decodeSettings(texts)
	faults = append(faults, settingFaults(err, values)...)
	if len(faults) > 0 {
		slices.SortStableFunc(faults, func(a, b schema.Fault) int { return cmp.Compare(a.Line, b.Line) })
		return nil, &schema.Errors{Faults: faults}
	}
	return &Config{
		DataDir:        string(s.DataDir),
		Engine:         string(s.Engine),
		Durability:     string(s.Durability),
		Memory:         int64(s.Memory),
		BackgroundRate: int64(s.BackgroundRate),
		LogLevel:       slog.Level(s.LogLevel),
		Schema:         tables,
		lines:          linesOf(values["tables"]),
	}, nil
}

// linesOf finds the lines of the tables, by their names, and of the families, by
// table/family. The tables were checked.
func linesOf(tables *yaml.Node) map[string]int {
	lines := map[string]int{}
	if tables == nil {
		return lines
	}
	for _, t := range tables.Content {
		name := member(t, "name")
		if name == nil {
			continue
		}
		lines[name.Value] = name.Line
		families := member(t, "families")
		if families == nil {
			continue
		}
		for _, f := range families.Content {
			if n := member(f, "name"); n != nil {
				lines[name.Value+"/"+n.Value] = n.Line
			}
		}
	}
	return lines
}

// member is the value of a key of a mapping, or nil.
func member(n *yaml.Node, key string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// settingTexts returns each setting as it is written; tables are not among them.
func settingTexts(values map[string]*yaml.Node) (texts map[string]any, faults []schema.Fault) {
	texts = map[string]any{}
	for key, n := range values {
		switch {
		case key == "tables":
		case n.Kind != yaml.ScalarNode || n.Tag == "!!null":
			faults = append(faults, schema.Fault{Line: n.Line, Path: key,
				Problem: "want a single value; leave the key out for the default, " + defaults[key]})
		default:
			texts[key] = n.Value
		}
	}
	return texts, faults
}

// faultsOf is every fault in an error of package schema.
func faultsOf(err error) []schema.Fault {
	if e, ok := err.(*schema.Errors); ok {
		return e.Faults
	}
	return nil
}
