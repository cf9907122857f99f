package tuple

// Every element starts with one byte, the code of its type. The order of these codes is
// the order of the types.
//
//	code    type           payload
//	00      null           none; followed by FF inside a nested tuple
//	01      byte string    each 00 written as 00 FF, then 00
//	02      string         UTF-8, escaped and terminated likewise
//	05      nested tuple   its elements, then 00
//	0B      integer        1 byte: length xor FF; then as 0C
//	0C..13  integer < 0    8..1 bytes: one's complement of the magnitude
//	14      0              none
//	15..1C  integer > 0    1..8 bytes: the magnitude
//	1D      integer        1 byte: length; then as 15
//	20      float32        4 bytes, made sortable: see sortable32
//	21      float64        8 bytes, likewise
//	26, 27  false, true    none
//	30      UUID           16 bytes
//	33      versionstamp   12 bytes
//	40      descending     an element as within a tuple, then 00, all as one's complement
//
// Numbers are big-endian. FF is never a type code: the escape relies on it. Other codes
// are reserved, or old forms of these.
const (
	codeNull         = 0x00
	codeBytes        = 0x01
	codeString       = 0x02
	codeNested       = 0x05
	codeBigNegative  = 0x0B
	codeZero         = 0x14
	codeBigPositive  = 0x1D
	codeFloat32      = 0x20
	codeFloat64      = 0x21
	codeFalse        = 0x26
	codeTrue         = 0x27
	codeUUID         = 0x30
	codeVersionstamp = 0x33
	codeDescending   = 0x40
)

const (
	terminator = 0x00 // ends bytes, strings and nested tuples
	escape     = 0xFF // follows a 00 that does not end them
)
