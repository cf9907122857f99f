package sql_test

import (
	"strings"
	"testing"
)

// Where clocks skip or repeat a time, the offset before the change counts.
func TestLocalTimesAtAChangeOfTheClocks(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT STRING(TIMESTAMP(DATE '2026-09-06', 'America/Santiago'), 'America/Santiago')`, "2026-09-06 01:00:00-03"},
		{`SELECT STRING(TIMESTAMP(DATE '2026-04-05', 'America/Santiago'), 'America/Santiago')`, "2026-04-05 00:00:00-04"},
		{`SELECT STRING(TIMESTAMP(DATE '2026-04-24', 'Africa/Cairo'), 'Africa/Cairo')`, "2026-04-24 01:00:00+03"},
		{`SELECT STRING(TIMESTAMP(DATE '2023-10-01', 'America/Asuncion'), 'America/Asuncion')`, "2023-10-01 01:00:00-03"},
		{`SELECT STRING(TIMESTAMP(DATE '2026-03-29', 'Asia/Beirut'), 'Asia/Beirut')`, "2026-03-29 01:00:00+03"},
		{`SELECT STRING(TIMESTAMP(DATE '2026-11-01', 'America/Havana'), 'America/Havana')`, "2026-11-01 00:00:00-04"},
		{`SELECT STRING(TIMESTAMP(DATE '2011-12-30', 'Pacific/Apia'), 'Pacific/Apia'), DATE(TIMESTAMP(DATE '2011-12-30', 'Pacific/Apia'), 'Pacific/Apia')`, "2011-12-31 00:00:00+14 2011-12-31"},
		{`SELECT STRING(TIMESTAMP '2015-03-08 02:30:00 America/Los_Angeles')`, "2015-03-08 10:30:00+00"},
		{`SELECT STRING(TIMESTAMP '2015-11-01 01:30:00 America/Los_Angeles')`, "2015-11-01 08:30:00+00"},
		{`SELECT STRING(CAST('2024-10-27 02:30:00 Europe/Paris' AS TIMESTAMP))`, "2024-10-27 00:30:00+00"},
		{`SELECT STRING(TIMESTAMP('2026-10-04 02:15:00', 'Australia/Lord_Howe'), 'Australia/Lord_Howe'), STRING(TIMESTAMP('2026-04-05 01:45:00', 'Australia/Lord_Howe'), 'Australia/Lord_Howe')`, "2026-10-04 02:45:00+11 2026-04-05 01:45:00+11"},
		{`SELECT STRING(PARSE_TIMESTAMP('%F %H', '2026-03-29 02', 'Europe/Berlin'), 'Europe/Berlin')`, "2026-03-29 03:00:00+02"},
		{`SELECT STRING(TIMESTAMP_TRUNC(TIMESTAMP '2026-09-06 12:00:00-03', DAY, 'America/Santiago'), 'America/Santiago')`, "2026-09-06 01:00:00-03"},
		{`SELECT STRING(TIMESTAMP_TRUNC(TIMESTAMP '2026-09-09 12:00:00-03', WEEK, 'America/Santiago'), 'America/Santiago')`, "2026-09-06 01:00:00-03"},
		{`SELECT STRING(TIMESTAMP_TRUNC(TIMESTAMP '2026-04-04 23:30:00-04', DAY, 'America/Santiago'), 'America/Santiago')`, "2026-04-04 00:00:00-03"},
		{`SELECT STRING(TIMESTAMP_TRUNC(TIMESTAMP '2026-11-01 00:30:00-05', DAY, 'America/Havana'), 'America/Havana')`, "2026-11-01 00:00:00-04"},
		{`SELECT STRING(TIMESTAMP_TRUNC(TIMESTAMP '2026-10-25 02:40:00+01', HOUR, 'Europe/Berlin'), 'Europe/Berlin'), STRING(TIMESTAMP_TRUNC(TIMESTAMP '2026-10-25 02:40:00+02', HOUR, 'Europe/Berlin'), 'Europe/Berlin')`, "2026-10-25 02:00:00+01 2026-10-25 02:00:00+02"},
		{`SELECT STRING(TIMESTAMP_TRUNC(TIMESTAMP '2026-05-15 12:00:00+00', MONTH, 'Africa/Cairo'), 'Africa/Cairo'), STRING(TIMESTAMP_TRUNC(TIMESTAMP '2026-05-15 12:00:00+00', ISOYEAR, 'Africa/Cairo'), 'Africa/Cairo')`, "2026-05-01 00:00:00+03 2025-12-29 00:00:00+02"},
		{`SELECT EXTRACT(HOUR FROM TIMESTAMP '2026-10-25 01:30:00+00' AT TIME ZONE 'Europe/Berlin'), EXTRACT(DATE FROM TIMESTAMP '2026-09-06 03:59:59+00' AT TIME ZONE 'America/Santiago'), EXTRACT(HOUR FROM TIMESTAMP_SECONDS(0) AT TIME ZONE 'UTC+5:30')`, "2 2026-09-05 5"},
		{`SELECT TIMESTAMP('1970-01-01 05:30:00', 'UTC+0530'), TIMESTAMP('1969-12-31 23:00:00', '-1'), TIMESTAMP(DATE '1970-01-01', '+14:00')`, "0 0 -50400000000"},
		{`SELECT STRING(TIMESTAMP '0001-01-01 00:00:00+00', 'America/New_York'), TIMESTAMP('0000-12-31 19:04:00-04:56') = TIMESTAMP '0001-01-01 00:00:00+00'`, "0000-12-31 19:04:00-04:56 true"},
		{`SELECT TIMESTAMP '1969-12-31 23:59:60', TIMESTAMP '1970-01-01 +01', TIMESTAMP '1970-01-01 00:00:00 UTC', TIMESTAMP '1970-01-01T00:00:00.000001Z', TIMESTAMP '1970-01-01 01:00:00 UTC+1'`, "0 -3600000000 0 1 0"},
	} {
		got, err := db.run(q.sql)
		if err != nil || got != q.want {
			t.Errorf("%s\ngot  %q, %v\nwant %q", q.sql, got, err, q.want)
		}
	}
}

// A digit beyond microseconds is not cut off without a word.
func TestTimestampsHaveSixDigits(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ sql, want string }{
		{`SELECT TIMESTAMP '2024-01-01 00:00:00.1234567'`, "has a fraction of 7 digits; a TIMESTAMP has up to six"},
		{`SELECT CAST('2024-01-01 00:00:00.1234560+00' AS TIMESTAMP)`, "a fraction of 7 digits"},
		{`SELECT TIMESTAMP('2024-01-01 00:00:00.123456789', 'UTC')`, "a fraction of 9 digits"},
		{`SELECT TIMESTAMP '2024-01-01 00:00:00.'`, "cannot be cast to TIMESTAMP"},
		{`SELECT TIMESTAMP '2024-01-01 00:00:61'`, "cannot be cast to TIMESTAMP"},
		{`SELECT TIMESTAMP '2024-02-30 00:00:00'`, "cannot be cast to TIMESTAMP"},
		{`SELECT TIMESTAMP '2024-01-01 00:00:00 +01'`, "cannot be cast to TIMESTAMP"},
		{`SELECT TIMESTAMP '2024-01-01 00:00:00+14:01'`, `"+14:01" is not a time zone`},
		{`SELECT TIMESTAMP '2024-01-01 00:00:00 Z'`, "cannot be cast to TIMESTAMP"},
	} {
		if got, err := db.run(q.sql); err == nil || !strings.Contains(err.Error(), q.want) {
			t.Errorf("%s\ngot  %q, %v\nwant %s", q.sql, got, err, q.want)
		}
	}
	if got, err := db.run(`SELECT SAFE_CAST('2024-01-01 00:00:00.1234567' AS TIMESTAMP), SAFE.TIMESTAMP('2024-01-01 00:00:00.1234567')`); err != nil || got != "NULL NULL" {
		t.Errorf("got %q, %v", got, err)
	}
}
