package dial

import (
	"context"
	"log/slog"

	"github.com/pingcap/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// standard is the logger that client-go and PD's client use unless the program gives
// them another one. It writes to standard error.
var standard = log.L()

// quiet sends the logs of client-go and PD's client to [slog.Default], at level debug.
func quiet() {
	if log.L() == standard {
		log.ReplaceGlobals(zap.New(toSlog{zap.DebugLevel, nil}, zap.WithFatalHook(survive{})), &log.ZapProperties{Level: zap.NewAtomicLevel()})
	}
}

// survive lets the process live when client-go would end it: when PD belongs to another
// cluster than before. The request fails.
type survive struct{}

func (survive) OnWrite(*zapcore.CheckedEntry, []zapcore.Field) {}

// toSlog is a [zapcore.Core] that logs the enabled levels.
type toSlog struct {
	zapcore.LevelEnabler
	attrs []slog.Attr
}

func (t toSlog) With(fields []zapcore.Field) zapcore.Core {
	return toSlog{t.LevelEnabler, append(t.attrs[:len(t.attrs):len(t.attrs)], attrs(fields)...)}
}

func (t toSlog) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if slog.Default().Enabled(context.Background(), slog.LevelDebug) {
		return checked.AddCore(e, t)
	}
	return checked
}

func (t toSlog) Write(e zapcore.Entry, fields []zapcore.Field) error {
	all := append(attrs(fields), t.attrs...)
	slog.Default().LogAttrs(context.Background(), slog.LevelDebug, "tikv: "+e.Message, all...)
	return nil
}

func (toSlog) Sync() error { return nil }

func attrs(fields []zapcore.Field) (all []slog.Attr) {
	values := zapcore.NewMapObjectEncoder()
	for _, f := range fields {
		f.AddTo(values)
	}
	for key, value := range values.Fields {
		all = append(all, slog.Any(key, value))
	}
	return all
}
