package parquetrows

import (
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	meta "github.com/parquet-go/parquet-go/format"

	"github.com/smolwc/smolwc/cells"
)

// floats writes an f32 or an f64 as text.
type floats func(cells.Value) string

// textOf says how the values of a column are written as text. A timestamp is
// microseconds since 1970, a date year-month-day.
func (f floats) textOf(t parquet.Type, schema *meta.SchemaElement) func(parquet.Value) string {
	if _, ok := schema.LogicalType.Value.(*meta.Float16Type); ok { // t does not know this type
		return f.float16Text
	}
	if t.LogicalType() == nil {
		return f.plainTextOf(t.Kind())
	}
	switch logical := t.LogicalType().Value.(type) {
	case *meta.TimestampType:
		switch logical.Unit.Value.(type) {
		case *meta.MilliSeconds:
			return func(v parquet.Value) string { return scaled(v.Int64(), 1000) }
		case *meta.NanoSeconds:
			return func(v parquet.Value) string { return strconv.FormatInt(time.Unix(0, v.Int64()).UnixMicro(), 10) }
		}
	case *meta.DateType:
		return func(v parquet.Value) string {
			return time.Unix(int64(v.Int32())*86400, 0).UTC().Format(time.DateOnly)
		}
	case *meta.IntType:
		if !logical.IsSigned {
			return unsignedText(t.Kind())
		}
	case *meta.DecimalType:
		return decimalText(t.Kind(), int(logical.Scale))
	}
	return f.plainTextOf(t.Kind())
}

func unsignedText(kind parquet.Kind) func(parquet.Value) string {
	if kind == parquet.Int32 {
		return func(v parquet.Value) string { return strconv.FormatUint(uint64(uint32(v.Int32())), 10) }
	}
	return func(v parquet.Value) string { return strconv.FormatUint(uint64(v.Int64()), 10) }
}

func (f floats) plainTextOf(kind parquet.Kind) func(parquet.Value) string {
	switch kind {
	case parquet.Boolean:
		return func(v parquet.Value) string { return strconv.FormatBool(v.Boolean()) }
	case parquet.Int32:
		return func(v parquet.Value) string { return strconv.FormatInt(int64(v.Int32()), 10) }
	case parquet.Int64:
		return func(v parquet.Value) string { return strconv.FormatInt(v.Int64(), 10) }
	case parquet.Int96:
		return func(v parquet.Value) string { return int96Text(v.Int96()) }
	case parquet.Float:
		return func(v parquet.Value) string { return f(cells.F32(v.Float())) }
	case parquet.Double:
		return func(v parquet.Value) string { return f(cells.F64(v.Double())) }
	}
	return func(v parquet.Value) string { return string(v.ByteArray()) }
}

// scaled is n times a factor, as text; a result that does not fit stays out of
// range.
func scaled(n, factor int64) string {
	if n > math.MaxInt64/factor || n < math.MinInt64/factor {
		return strconv.FormatInt(n, 10) + "000"
	}
	return strconv.FormatInt(n*factor, 10)
}

// int96Text is an old kind of timestamp: nanoseconds of a Julian day.
func int96Text(v deprecated.Int96) string {
	const unixDay = 2440588
	nanos := int64(v[0]) | int64(v[1])<<32
	return strconv.FormatInt((int64(v[2])-unixDay)*86400_000_000+nanos/1000, 10)
}

// decimalText is a number that is stored without its point.
func decimalText(kind parquet.Kind, scale int) func(parquet.Value) string {
	return func(v parquet.Value) string {
		n := new(big.Int)
		switch kind {
		case parquet.Int32:
			n.SetInt64(int64(v.Int32()))
		case parquet.Int64:
			n.SetInt64(v.Int64())
		default: // two's complement, the highest byte first
			b := v.ByteArray()
			n.SetBytes(b)
			if len(b) > 0 && b[0]&0x80 != 0 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			}
		}
		digits := new(big.Int).Abs(n).String()
		for len(digits) <= scale {
			digits = "0" + digits
		}
		if scale > 0 {
			digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
		}
		if n.Sign() < 0 {
			return "-" + digits
		}
		return digits
	}
}

// float16Text is a number of half precision. Every such number is an f32.
func (f floats) float16Text(v parquet.Value) string {
	b := v.ByteArray()
	if len(b) != 2 {
		return string(b)
	}
	return f(cells.F32(float16(uint32(b[0]) | uint32(b[1])<<8)))
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
