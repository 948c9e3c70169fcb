package config

import (
	"fmt"
	"io"
	"log/slog"
)

const hidden = "***"

// Secret is text that no log, message or encoder shows. Reveal returns it.
type Secret string

// Reveal returns the text itself, for the one who must use it.
func (s Secret) Reveal() string { return string(s) }

// Format hides the text from every verb of package fmt, %d included.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// String hides the text, but not whether there is one.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString hides the text.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the text.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the text from encoders such as JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
