package parquetrows

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	meta "github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// A pageCodec decompresses src into dst, and returns the number of bytes that it wrote.
// dst is as long as the page states; a few writers state too much. A pageCodec never
// writes beyond dst, so memory is bounded whatever src holds.
type pageCodec func(dst, src []byte) (int, error)

// pageCodecs are the codecs of Parquet, without LZO.
var pageCodecs = map[meta.CompressionCodec]pageCodec{
	meta.Uncompressed: nil,
	meta.Snappy:       unpackSnappy,
	meta.Gzip:         unpackStream(func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }),
	meta.Brotli:       unpackStream(func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil }),
	meta.Zstd:         unpackZstd,
	meta.Lz4Raw:       unpackLZ4,
	meta.Lz4:          unpackOldLZ4,
}

var (
	errLongPage = errors.New("the data is longer than the page header says")
	errLZ4      = errors.New("the LZ4 data is damaged, or longer than the page header says")
)

func unpackSnappy(dst, src []byte) (int, error) {
	n, err := snappy.DecodedLen(src)
	switch {
	case err != nil:
		return 0, err
	case n > len(dst):
		return 0, errLongPage
	}
	_, err = snappy.Decode(dst, src)
	return n, err
}

// unpackStream is the codec of a format that is read as a stream.
func unpackStream(open func(io.Reader) (io.Reader, error)) pageCodec {
	return func(dst, src []byte) (int, error) {
		r, err := open(bytes.NewReader(src))
		if err != nil {
			return 0, err
		}
		var n int
		for n < len(dst) && err == nil {
			var more int
			more, err = r.Read(dst[n:])
			n += more
		}
		if err == nil {
			if _, err = io.ReadFull(r, make([]byte, 1)); err == nil {
				return n, errLongPage
			}
		}
		if err == io.EOF {
			err = nil
		}
		return n, err
	}
}

// zstdPages is stateless: several pages may use it at once.
var zstdPages = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
})

func unpackZstd(dst, src []byte) (int, error) {
	z, err := zstdPages()
	if err != nil {
		return 0, err
	}
	out, err := z.DecodeAll(src, dst[:0:len(dst)])
	if err != nil {
		return 0, err
	}
	return copy(dst, out), nil // which moves nothing where the decoder used dst
}

func unpackLZ4(dst, src []byte) (int, error) {
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil {
		return 0, errLZ4
	}
	return n, nil
}

// unpackOldLZ4 is the deprecated codec LZ4. Writers use it for three formats: the
// blocks of Hadoop, LZ4 frames, and one block like LZ4_RAW's.
func unpackOldLZ4(dst, src []byte) (int, error) {
	for _, unpack := range []pageCodec{unpackHadoopLZ4, unpackFramedLZ4} {
		if n, err := unpack(dst, src); err == nil {
			return n, nil
		}
	}
	return unpackLZ4(dst, src)
}

var unpackFramedLZ4 = unpackStream(func(r io.Reader) (io.Reader, error) { return lz4.NewReader(r), nil })

// unpackHadoopLZ4 reads blocks that have their length before them, decompressed
// and compressed, each in four bytes.
func unpackHadoopLZ4(dst, src []byte) (int, error) {
	done := 0
	for len(src) > 0 {
		if len(src) < 8 {
			return 0, errLZ4
		}
		size, packed := binary.BigEndian.Uint32(src), binary.BigEndian.Uint32(src[4:])
		src = src[8:]
		if uint64(size) > uint64(len(dst)-done) || uint64(packed) > uint64(len(src)) {
			return 0, errLZ4
		}
		n, err := unpackLZ4(dst[done:done+int(size)], src[:packed])
		if err != nil || n != int(size) {
			return 0, errLZ4
		}
		done, src = done+n, src[packed:]
	}
	return done, nil
}
