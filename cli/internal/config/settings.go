package config

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"github.com/smolwc/smolwc/schema"
)

// MinMemory is the least that the memory setting may be, 16 MiB.
const MinMemory = 16 << 20

// MinBackgroundRate is the smallest background_rate other than 0, in bytes a second:
// 1 MiB.
const MinBackgroundRate = 1 << 20

// defaults are the settings of an empty file, as it would spell them.
var defaults = map[string]string{
	"data_dir":        "./data",
	"durability":      "sync",
	"memory":          "256MiB",
	"background_rate": "0",
	"log_level":       "warn",
}

// settings is the file without its tables. Each type reads and checks its own
// text.
type settings struct {
	DataDir        directory  `mapstructure:"data_dir"`
	Engine         engine     `mapstructure:"engine"`
	Durability     durability `mapstructure:"durability"`
	Memory         memory     `mapstructure:"memory"`
	BackgroundRate rate       `mapstructure:"background_rate"`
	LogLevel       logLevel   `mapstructure:"log_level"`
}

type (
	directory  string
	engine     string
	durability string
	memory     int64
	rate       int64
	logLevel   slog.Level
)

// decodeSettings reads the settings from their texts. A setting without a text
// gets its default.
func decodeSettings(texts map[string]any) (s settings, err error) {
	v := viper.New()
	for key, text := range defaults {
		v.SetDefault(key, text)
	}
	if err := v.MergeConfigMap(texts); err != nil {
		return s, err
	}
	return s, v.UnmarshalExact(&s, func(c *mapstructure.DecoderConfig) {
		c.WeaklyTypedInput = false
		c.DecodeHook = mapstructure.TextUnmarshallerHookFunc()
	})
}

// settingFaults finds the faults in an error of decodeSettings. A fault is at the
// position of the key's value.
func settingFaults(err error, values map[string]*yaml.Node) []schema.Fault {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var faults []schema.Fault
		for _, e := range many.Unwrap() {
			faults = append(faults, settingFaults(e, values)...)
		}
		return faults
	}
	if d, ok := err.(*mapstructure.DecodeError); ok && values[d.Name()] != nil {
		return []schema.Fault{{Line: values[d.Name()].Line, Path: d.Name(), Problem: d.Unwrap().Error()}}
	}
	if inner := errors.Unwrap(err); inner != nil {
		return settingFaults(inner, values)
	}
	return []schema.Fault{{Problem: err.Error()}}
}

func (d *directory) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("want the name of a directory, not empty text")
	}
	if strings.ContainsRune(string(text), 0) {
		return fmt.Errorf("%q is not the name of a directory: it has a zero byte", text)
	}
	*d = directory(text)
	return nil
}

func (e *engine) UnmarshalText(text []byte) error {
	if engines := []string{"rocksdb", "pebble"}; !slices.Contains(engines, string(text)) {
		return oneOf(string(text), engines)
	}
	*e = engine(text)
	return nil
}

func (d *durability) UnmarshalText(text []byte) error {
	if s := string(text); s != "sync" && s != "async" {
		return oneOf(s, []string{"sync", "async"})
	}
	*d = durability(text)
	return nil
}

func (m *memory) UnmarshalText(text []byte) error {
	n, err := schema.ParseSize(string(text))
	if err == nil && n < MinMemory {
		err = fmt.Errorf("%s is too little; want 16MiB or more", text)
	}
	*m = memory(n)
	return err
}

func (r *rate) UnmarshalText(text []byte) error {
	n, err := schema.ParseSize(string(text))
	if err == nil && n != 0 && n < MinBackgroundRate {
		err = fmt.Errorf("%s a second is too little; want 1MiB or more, or 0 for no bound", text)
	}
	*r = rate(n)
	return err
}

func (l *logLevel) UnmarshalText(text []byte) error {
	names := []string{"debug", "info", "warn", "error"}
	levels := []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}
	for i, name := range names {
		if name == string(text) {
			*l = logLevel(levels[i])
			return nil
		}
	}
	return oneOf(string(text), names)
}

func oneOf(text string, names []string) error {
	if near := schema.DidYouMean(text, names); near != "" {
		return fmt.Errorf("unknown value %q%s", text, near)
	}
	return fmt.Errorf("unknown value %q; want one of %s", text, strings.Join(names, ", "))
}
