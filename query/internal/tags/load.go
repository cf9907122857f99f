package tags

import (
	"iter"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/internal/fault"
)

// A Row is where fields are loaded from.
type Row interface {
	Key() string
	Cells() iter.Seq[cells.Cell]
	Versions(family, qualifier string) iter.Seq[cells.Cell]
	Cell(family, qualifier string) (cells.Cell, bool)
}

// Load sets the tagged fields of the struct that dst points to. After an error it is as it
// was. What is loaded shares no memory with the row.
func Load(dst any, row Row) error {
	to := reflect.ValueOf(dst)
	if to.Kind() != reflect.Pointer || to.IsNil() || to.Elem().Kind() != reflect.Struct {
		return fault.Errorf(fault.InvalidArgument, "cannot read into %T; want a pointer to a struct", dst)
	}
	fields, err := fieldsOf(to.Type().Elem())
	if err != nil {
		return err
	}
	loaded := reflect.New(to.Type().Elem()).Elem()
	loaded.Set(to.Elem())
	for i := range fields {
		f := &fields[i]
		at, err := loaded.FieldByIndexErr(f.index)
		if err != nil {
			return fault.Errorf(fault.InvalidArgument, "%s: %w", f.name, err)
		}
		if err := f.load(at, row); err != nil {
			return err
		}
	}
	to.Elem().Set(loaded)
	return nil
}

func (f *field) load(at reflect.Value, row Row) error {
	at.SetZero()
	switch f.role {
	case rowKey:
		if at.Kind() == reflect.String {
			at.SetString(strings.Clone(row.Key()))
		} else {
			at.SetBytes([]byte(row.Key()))
		}
	case timestamp:
		if c, ok := row.Cell(f.family, f.qualifier); ok && at.Type() == timeType {
			at.Set(reflect.ValueOf(c.Timestamp.Time()))
		} else if ok {
			at.SetInt(int64(c.Timestamp))
		}
	case newest:
		c, ok := row.Cell(f.family, f.qualifier)
		if !ok {
			return nil
		}
		if at.Kind() == reflect.Pointer {
			at.Set(reflect.New(f.item))
			at = at.Elem()
		}
		return f.set(at, c)
	case versions:
		for c := range row.Versions(f.family, f.qualifier) {
			item := reflect.New(f.item).Elem()
			if err := f.set(item, c); err != nil {
				return err
			}
			at.Set(reflect.Append(at, item))
		}
	case family:
		last := ""
		for c := range row.Cells() {
			if c.Family != f.family || !at.IsNil() && c.Qualifier == last {
				continue // of another family, or an older version
			}
			last = c.Qualifier
			item := reflect.New(f.item).Elem()
			if err := f.set(item, c); err != nil {
				return err
			}
			if at.IsNil() {
				at.Set(reflect.MakeMap(at.Type()))
			}
			at.SetMapIndex(reflect.ValueOf(strings.Clone(c.Qualifier)).Convert(at.Type().Key()), item)
		}
	}
	return nil
}

// set puts a cell into what holds exactly its type.
func (f *field) set(at reflect.Value, c cells.Cell) error {
	switch at.Type() {
	case valueType:
		at.Set(reflect.ValueOf(owned(c.Value)))
		return nil
	case cellType:
		at.Set(reflect.ValueOf(cells.Cell{Family: strings.Clone(c.Family), Qualifier: strings.Clone(c.Qualifier), Timestamp: c.Timestamp, Value: owned(c.Value)}))
		return nil
	}
	if want := typeOf(f.item); c.Value.Type() != want {
		return fault.Errorf(fault.FailedPrecondition, "%s has type %s, and %s of type %s takes %s", c.Column(), c.Value.Type(), f.name, f.item, want)
	}
	switch v := c.Value.Any().(type) {
	case string:
		at.SetString(strings.Clone(v))
	case []byte:
		at.SetBytes(append([]byte{}, v...))
	case bool:
		at.SetBool(v)
	case byte:
		at.SetUint(uint64(v))
	case int32:
		at.SetInt(int64(v))
	case int64:
		if at.OverflowInt(v) { // an int of 32 bits
			return fault.Errorf(fault.FailedPrecondition, "%s is %d, which %s of type %s does not hold", c.Column(), v, f.name, f.item)
		}
		at.SetInt(v)
	case float32:
		if at.Type() == reflect.TypeFor[float32]() {
			at.Set(reflect.ValueOf(v)) // with the bits of a NaN, which SetFloat changes
		} else {
			at.SetFloat(float64(v))
		}
	case float64:
		at.SetFloat(v)
	}
	return nil
}

// owned is a value with memory of its own.
func owned(v cells.Value) cells.Value {
	switch x := v.Any().(type) {
	case string:
		return cells.String(strings.Clone(x))
	case []byte:
		return cells.Bytes(append([]byte{}, x...))
	}
	return v
}

// Save calls set for each cell that the tagged fields of a struct, or of what a pointer
// points to, hold, and returns the key. A timestamp of 0 is left to the clock.
func Save(src any, set func(family, qualifier string, at cells.Timestamp, v cells.Value)) (key string, err error) {
	from := reflect.ValueOf(src)
	if from.Kind() == reflect.Pointer {
		from = from.Elem()
	}
	if from.Kind() != reflect.Struct {
		return "", fault.Errorf(fault.InvalidArgument, "cannot make a mutation of %T; want a struct, or a pointer to one", src)
	}
	fields, err := fieldsOf(from.Type())
	if err != nil {
		return "", err
	}
	times := map[string]cells.Timestamp{}
	for i := range fields {
		if f := &fields[i]; f.role == timestamp {
			if times[f.column()], err = f.time(from.FieldByIndex(f.index)); err != nil {
				return "", err
			}
		}
	}
	for i := range fields {
		f := &fields[i]
		at, err := from.FieldByIndexErr(f.index)
		if err != nil {
			return "", fault.Errorf(fault.InvalidArgument, "%s: %w", f.name, err)
		}
		switch f.role {
		case rowKey:
			if key = textOf(at); key == "" {
				return "", fault.Errorf(fault.InvalidArgument, "%s, the row's key, is empty", f.name)
			}
		case newest:
			if at.Kind() == reflect.Pointer {
				if at.IsNil() {
					continue
				}
				at = at.Elem()
			}
			f.save(f.qualifier, at, times[f.column()], set)
		case versions:
			if f.item != cellType && at.Len() > 0 {
				return "", fault.Errorf(fault.InvalidArgument, "%s has versions without their timestamps, which cannot be written; make it []cells.Cell", f.name)
			}
			for i := range at.Len() {
				f.save(f.qualifier, at.Index(i), 0, set)
			}
		case family:
			for q, v := range at.Seq2() {
				f.save(q.String(), v, 0, set)
			}
		}
	}
	return key, nil
}

func textOf(v reflect.Value) string {
	if v.Kind() == reflect.String {
		return v.String()
	}
	return string(v.Bytes())
}

// time is the timestamp in a field: 0 for the zero time.
func (f *field) time(v reflect.Value) (cells.Timestamp, error) {
	t, ok := v.Interface().(time.Time)
	if !ok {
		return cells.Timestamp(v.Int()), nil
	}
	if t.IsZero() {
		return 0, nil
	}
	if t.Unix() < math.MinInt64/1_000_000 || t.Unix() > math.MaxInt64/1_000_000-1 {
		return 0, fault.Errorf(fault.InvalidArgument, "%s is %v, which no timestamp holds", f.name, t)
	}
	return cells.Timestamp(t.UnixMicro()), nil
}

// save sets a value, unless it is one that stands for no cell.
func (f *field) save(qualifier string, at reflect.Value, ts cells.Timestamp, set func(string, string, cells.Timestamp, cells.Value)) {
	v := cells.Value{}
	switch x := at.Interface().(type) {
	case cells.Value:
		v = x
	case cells.Cell:
		v = x.Value
		if ts == 0 {
			ts = x.Timestamp
		}
	default:
		v = valueOf(at)
	}
	if v.Type() != cells.TypeAny {
		set(f.family, qualifier, ts, v)
	}
}

// valueOf is what a field holds as a value, the zero Value for a nil []byte.
func valueOf(at reflect.Value) cells.Value {
	switch typeOf(at.Type()) {
	case cells.TypeString:
		return cells.String(at.String())
	case cells.TypeBool:
		return cells.Bool(at.Bool())
	case cells.TypeByte:
		return cells.Byte(byte(at.Uint()))
	case cells.TypeI32:
		return cells.I32(int32(at.Int()))
	case cells.TypeI64:
		return cells.I64(at.Int())
	case cells.TypeF32:
		if x, ok := at.Interface().(float32); ok {
			return cells.F32(x)
		}
		return cells.F32(float32(at.Float()))
	case cells.TypeF64:
		return cells.F64(at.Float())
	case cells.TypeBytes:
		if !at.IsNil() {
			return cells.Bytes(at.Bytes())
		}
	}
	return cells.Value{}
}
