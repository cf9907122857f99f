package parquetrows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go/deprecated"
	meta "github.com/parquet-go/parquet-go/format"

	"github.com/smolwc/smolwc/cells"
)

// floats writes an f32 or an f64 as text.
type floats func(cells.Value) string

// textOf says how the values of a column are written as text. A timestamp is
// microseconds since 1970, a date year-month-day, a time of day hours, minutes and seconds,
// an interval a duration of ISO 8601. An annotation that does not fit the type that the
// values are stored as does not count.
func (f floats) textOf(e *meta.SchemaElement) (func(value) (string, error), error) {
	kind := e.Type.V
	switch as := annotation(e).(type) {
	case *meta.DecimalType:
		const most = 1000 // digits; other programs have up to 76
		if as.Scale < 0 || as.Scale > most {
			return nil, fmt.Errorf("its decimals have %d digits after the point; 0 to %d are possible", as.Scale, most)
		}
		switch kind {
		case meta.Int32, meta.Int64, meta.ByteArray, meta.FixedLenByteArray:
			return decimalText(kind, int(as.Scale)), nil
		}
	case *meta.Float16Type:
		if kind == meta.FixedLenByteArray && e.TypeLength.V == 2 {
			return f.float16Text, nil
		}
	case *meta.UUIDType:
		if kind == meta.FixedLenByteArray && e.TypeLength.V == 16 {
			return uuidText, nil
		}
	case *meta.TimestampType:
		if kind == meta.Int64 {
			return timestampText(as.Unit), nil
		}
	case *meta.TimeType:
		if kind == meta.Int32 || kind == meta.Int64 {
			return timeText(kind, as.Unit), nil
		}
	case *meta.DateType:
		if kind == meta.Int32 {
			return dateText, nil
		}
	case *meta.IntType:
		switch {
		case as.IsSigned:
		case kind == meta.Int32:
			return func(v value) (string, error) { return strconv.FormatUint(uint64(uint32(v.bits)), 10), nil }, nil
		case kind == meta.Int64:
			return func(v value) (string, error) { return strconv.FormatUint(v.bits, 10), nil }, nil
		}
	case interval:
		if kind == meta.FixedLenByteArray && e.TypeLength.V == 12 {
			return intervalText, nil
		}
	}
	return f.plainTextOf(kind), nil
}

// An interval annotates months, days and milliseconds. It is not a logical type.
type interval struct{}

// annotation says what the values of a column mean: the logical type, or the one that the
// older converted type stands for.
func annotation(e *meta.SchemaElement) any {
	if as := e.LogicalType.Value; as != nil {
		return as
	}
	if !e.ConvertedType.Valid {
		return nil
	}
	millis, micros := meta.TimeUnit{Value: new(meta.MilliSeconds)}, meta.TimeUnit{Value: new(meta.MicroSeconds)}
	switch e.ConvertedType.V {
	case deprecated.Decimal:
		return &meta.DecimalType{Scale: e.Scale.V}
	case deprecated.Date:
		return &meta.DateType{}
	case deprecated.TimeMillis:
		return &meta.TimeType{Unit: millis}
	case deprecated.TimeMicros:
		return &meta.TimeType{Unit: micros}
	case deprecated.TimestampMillis:
		return &meta.TimestampType{Unit: millis}
	case deprecated.TimestampMicros:
		return &meta.TimestampType{Unit: micros}
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		return &meta.IntType{}
	case deprecated.Interval:
		return interval{}
	}
	return nil
}

func (f floats) plainTextOf(kind meta.Type) func(value) (string, error) {
	switch kind {
	case meta.Boolean:
		return func(v value) (string, error) { return strconv.FormatBool(v.bits&1 == 1), nil }
	case meta.Int32:
		return func(v value) (string, error) { return strconv.FormatInt(int64(int32(v.bits)), 10), nil }
	case meta.Int64:
		return func(v value) (string, error) { return strconv.FormatInt(int64(v.bits), 10), nil }
	case meta.Int96:
		return int96Text
	case meta.Float:
		return func(v value) (string, error) { return f(cells.F32(math.Float32frombits(uint32(v.bits)))), nil }
	case meta.Double:
		return func(v value) (string, error) { return f(cells.F64(math.Float64frombits(v.bits))), nil }
	}
	return func(v value) (string, error) { return string(v.raw), nil }
}

func dateText(v value) (string, error) {
	return time.Unix(int64(int32(v.bits))*86400, 0).UTC().Format(time.DateOnly), nil
}

// timestampText cuts nanoseconds to microseconds.
func timestampText(unit meta.TimeUnit) func(value) (string, error) {
	return func(v value) (string, error) {
		n := int64(v.bits)
		switch unit.Value.(type) {
		case *meta.MilliSeconds:
			return scaled(n, 1000), nil
		case *meta.NanoSeconds:
			n = time.Unix(0, n).UnixMicro()
		}
		return strconv.FormatInt(n, 10), nil
	}
}

// timeText is a time of day, as in 13:45:30.25.
func timeText(kind meta.Type, unit meta.TimeUnit) func(value) (string, error) {
	perSecond := int64(1_000_000)
	switch unit.Value.(type) {
	case *meta.MilliSeconds:
		perSecond = 1000
	case *meta.NanoSeconds:
		perSecond = 1_000_000_000
	}
	return func(v value) (string, error) {
		n := int64(v.bits)
		if kind == meta.Int32 {
			n = int64(int32(v.bits))
		}
		if n < 0 || n/perSecond > 86400 {
			return "", fmt.Errorf("%d is no time of day in units of 1/%d s", n, perSecond)
		}
		text := fmt.Sprintf("%02d:%02d:%02d", n/perSecond/3600, n/perSecond/60%60, n/perSecond%60)
		if part := n % perSecond; part > 0 {
			text += strings.TrimRight(strconv.FormatInt(perSecond+part, 10), "0")
			text = text[:8] + "." + text[9:]
		}
		return text, nil
	}
}

func uuidText(v value) (string, error) {
	b := v.raw
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}

// intervalText is a duration of ISO 8601, as in P1M2DT3.5S.
func intervalText(v value) (string, error) {
	months, days, millis := binary.LittleEndian.Uint32(v.raw), binary.LittleEndian.Uint32(v.raw[4:]), binary.LittleEndian.Uint32(v.raw[8:])
	text := "P"
	if months > 0 {
		text += fmt.Sprintf("%dM", months)
	}
	if days > 0 {
		text += fmt.Sprintf("%dD", days)
	}
	switch {
	case millis%1000 > 0:
		text += "T" + strings.TrimRight(fmt.Sprintf("%d.%03d", millis/1000, millis%1000), "0") + "S"
	case millis > 0 || text == "P":
		text += fmt.Sprintf("T%dS", millis/1000)
	}
	return text, nil
}

// scaled is n times a factor, as text; a result that does not fit stays out of
// range.
func scaled(n, factor int64) string {
	if n > math.MaxInt64/factor || n < math.MinInt64/factor {
		return strconv.FormatInt(n, 10) + "000"
	}
	return strconv.FormatInt(n*factor, 10)
}

// int96Text is an old kind of timestamp: nanoseconds of a Julian day. Spark lets far ones
// overflow when it writes them, and so they do here.
func int96Text(v value) (string, error) {
	const unixDay = 2440588
	nanos, day := int64(binary.LittleEndian.Uint64(v.raw)), int64(int32(binary.LittleEndian.Uint32(v.raw[8:])))
	return strconv.FormatInt((day-unixDay)*86400_000_000+nanos/1000, 10), nil
}

// decimalText is a number that is stored without its point.
func decimalText(kind meta.Type, scale int) func(value) (string, error) {
	return func(v value) (string, error) {
		n := new(big.Int)
		switch kind {
		case meta.Int32:
			n.SetInt64(int64(int32(v.bits)))
		case meta.Int64:
			n.SetInt64(int64(v.bits))
		default: // two's complement, the highest byte first
			b := v.raw
			if len(b) == 0 {
				return "", errors.New("a decimal has no bytes, so it is no number")
			}
			n.SetBytes(b)
			if b[0]&0x80 != 0 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			}
		}
		digits := new(big.Int).Abs(n).String()
		if missing := scale + 1 - len(digits); missing > 0 {
			digits = strings.Repeat("0", missing) + digits
		}
		if scale > 0 {
			digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
		}
		if n.Sign() < 0 {
			return "-" + digits, nil
		}
		return digits, nil
	}
}

// float16Text is a number of half precision. Every such number is an f32.
func (f floats) float16Text(v value) (string, error) {
	return f(cells.F32(float16(uint32(binary.LittleEndian.Uint16(v.raw))))), nil
}

// float16 is the number of the bits of IEEE 754's binary16.
func float16(bits uint32) float32 {
	sign, exponent, fraction := bits>>15<<31, bits>>10&31, bits&1023
	switch exponent {
	case 0: // zero, or below the least normal number
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)/(1<<24)))
	case 31: // infinite, or NaN
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}
