package trace

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/openseckill/seckill/pkg/config"
)

const (
	otlp     = "OTEL_EXPORTER_OTLP_"
	specific = "OTEL_EXPORTER_OTLP_TRACES_" // for traces alone; it wins
)

// wanted reports whether the settings ask for traces. The collector's address is enough.
func wanted(environ map[string]string) bool {
	if strings.EqualFold(environ["OTEL_SDK_DISABLED"], "true") {
		return false
	}
	if exporter := environ["OTEL_TRACES_EXPORTER"]; exporter != "" {
		return exporter != "none"
	}
	return environ[otlp+"ENDPOINT"] != "" || environ[specific+"ENDPOINT"] != ""
}

// rule is what a variable has to be. The SDK would pass over one that is not, or go on with
// the default and say so in the middle of a sale.
type rule struct {
	variables []string
	ok        func(string) bool
	wrong     string
	example   string
	secret    bool // its value is not shown
}

func both(name string) []string { return []string{otlp + name, specific + name} }

var rules = []rule{
	{[]string{"OTEL_TRACES_EXPORTER"}, oneOf("otlp", "none"), "is neither otlp nor none", "otlp", false},
	{both("ENDPOINT"), isAddress, "is no address with http:// or https://", "http://collector:4318", true},
	{both("PROTOCOL"), oneOf("http/protobuf", "http/json"), "is not what this program speaks", "http/protobuf", false},
	{both("COMPRESSION"), oneOf("gzip", "none"), "is neither gzip nor none", "gzip", false},
	{both("HEADERS"), isHeaders, "is no list of name=value", "api-key=secret,tenant=shop", true},
	{both("TIMEOUT"), isPositive, "is no number of milliseconds", "10000", false},
	{[]string{"OTEL_TRACES_SAMPLER"}, isSampler, "is no sampler", "parentbased_traceidratio", false},
	{[]string{"OTEL_TRACES_SAMPLER_ARG"}, isRatio, "is not from 0 to 1", "0.01", false},
	{[]string{"OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT"}, isPositive, "is no number of milliseconds", "5000", false},
	{[]string{"OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"}, isPositive, "is no number of spans", "512", false},
}

// check returns a *config.Error that names every variable that is wrong. An empty one is as
// good as none.
func check(environ map[string]string) error {
	var faults []config.Fault
	for _, r := range rules {
		for _, name := range r.variables {
			value := environ[name]
			if value == "" || r.ok(value) {
				continue
			}
			wrong := r.wrong
			if !r.secret {
				wrong = fmt.Sprintf("%q %s", value, wrong)
			}
			faults = append(faults, config.Fault{Variable: name, Wrong: wrong, Example: r.example})
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return &config.Error{Faults: faults}
}

func oneOf(words ...string) func(string) bool {
	return func(s string) bool { return slices.Contains(words, s) }
}

func isAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func isHeaders(s string) bool {
	for header := range strings.SplitSeq(s, ",") {
		name, value, found := strings.Cut(header, "=")
		if _, err := url.PathUnescape(value); err != nil || !found || strings.TrimSpace(name) == "" {
			return false
		}
	}
	return true
}

func isSampler(s string) bool {
	name := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(s)), "parentbased_")
	return slices.Contains([]string{"always_on", "always_off", "traceidratio"}, name)
}

func isRatio(s string) bool {
	ratio, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return err == nil && ratio >= 0 && ratio <= 1
}

func isPositive(s string) bool {
	n, err := strconv.ParseInt(s, 10, 32)
	return err == nil && n > 0
}
