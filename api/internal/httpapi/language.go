package httpapi

import (
	"strconv"
	"strings"
)

// chinese reports whether an Accept-Language header prefers Chinese to English. Refusals
// are the hottest answers of a sale, so this reads the header once and allocates nothing.
func chinese(header string) bool {
	var en, zh float64
	for header != "" {
		var item string
		item, header, _ = strings.Cut(header, ",")
		tag, params, _ := strings.Cut(strings.TrimSpace(item), ";")
		primary, _, _ := strings.Cut(strings.TrimSpace(tag), "-")
		switch {
		case strings.EqualFold(primary, "zh"):
			zh = max(zh, quality(params))
		case strings.EqualFold(primary, "en"), primary == "*":
			en = max(en, quality(params))
		}
	}
	return zh > en
}

// quality reads "q=0.8"; no or a malformed weight is 1, as if it were not there.
func quality(params string) float64 {
	name, value, _ := strings.Cut(strings.TrimSpace(params), "=")
	if !strings.EqualFold(strings.TrimSpace(name), "q") {
		return 1
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || q < 0 || q > 1 {
		return 1
	}
	return q
}
