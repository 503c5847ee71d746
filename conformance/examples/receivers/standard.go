// Go's standard library alone. It has no database, so bookings are a folder with one file for each event.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	largestBody = 1 << 20
	tolerance   = 5 * time.Minute
)

var known = map[string]bool{
	"disbursement.completed": true,
	"disbursement.failed":    true,
	"checkout.completed":     true,
	"checkout.failed":        true,
	"checkout.cancelled":     true,
}

// booking is what a file contains.
type booking struct {
	ID                 string `json:"id"`
	Event              string `json:"event"`
	Reference          string `json:"reference"`
	MerchantsReference string `json:"merchantsReference"`
	Amount             int64  `json:"amount"`
}

type receiver struct {
	keys   [][]byte
	folder string
}

func (rc *receiver) isAuthentic(header http.Header, body []byte) bool {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	// Unsigned, because the timestamp has no sign.
	seconds, err := strconv.ParseUint(timestamp, 10, 63)
	if err != nil || id == "" {
		return false
	}
	age := time.Since(time.Unix(int64(seconds), 0))
	if age > tolerance || age < -tolerance {
		return false
	}
	for _, key := range rc.keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + timestamp + "."))
		mac.Write(body)
		valid := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		for _, given := range strings.Split(header.Get("webhook-signature"), " ") {
			if hmac.Equal([]byte(given), []byte(valid)) {
				return true
			}
		}
	}
	return false
}

// book writes a booking, unless there is one of this event. A link appears at once, with the whole file, or not at all.
func (rc *receiver) book(b booking) error {
	file, err := os.CreateTemp(rc.folder, "*.part")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if err := json.NewEncoder(file).Encode(b); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	err = os.Link(file.Name(), filepath.Join(rc.folder, hex.EncodeToString([]byte(b.ID))+".json"))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	folder, err := os.Open(rc.folder)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

// receive handles a webhook, and returns the status of the response.
func (rc *receiver) receive(w http.ResponseWriter, r *http.Request) int {
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largestBody))
	if err != nil || !rc.isAuthentic(r.Header, body) {
		return http.StatusBadRequest
	}
	var webhook struct {
		Event string
		Data  json.RawMessage
	}
	if json.Unmarshal(body, &webhook) != nil || webhook.Event == "" {
		return http.StatusBadRequest
	}
	if !known[webhook.Event] {
		return http.StatusNoContent
	}
	var b booking
	if json.Unmarshal(webhook.Data, &b) != nil || b.Reference == "" {
		return http.StatusBadRequest
	}
	b.ID, b.Event = r.Header.Get("webhook-id"), webhook.Event
	if err := rc.book(b); err != nil {
		log.Print(err)
		return http.StatusInternalServerError
	}
	return http.StatusNoContent
}

// effects returns everything that was booked.
func (rc *receiver) effects() ([]json.RawMessage, error) {
	files, err := filepath.Glob(filepath.Join(rc.folder, "*.json"))
	if err != nil {
		return nil, err
	}
	bookings := []json.RawMessage{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		bookings = append(bookings, text)
	}
	return bookings, nil
}

func environment(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func main() {
	rc := &receiver{folder: environment("BOOKINGS", "bookings")}
	for _, name := range []string{"WEBHOOK_SECRET", "WEBHOOK_SECRET_OLD"} {
		secret := os.Getenv(name)
		if secret == "" {
			continue
		}
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			log.Fatalf("%s is not a webhook secret", name)
		}
		rc.keys = append(rc.keys, key)
	}
	if err := os.MkdirAll(rc.folder, 0o700); err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/webhooks", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(rc.receive(w, r)) })
	http.HandleFunc("/effects", func(w http.ResponseWriter, r *http.Request) {
		bookings, err := rc.effects()
		if err != nil {
			http.Error(w, "the bookings cannot be read", http.StatusInternalServerError)
			return
		}
		json.NewEncoder(w).Encode(bookings)
	})
	server := http.Server{Addr: "127.0.0.1:" + environment("PORT", "8080"), ReadTimeout: 30 * time.Second}
	log.Fatal(server.ListenAndServe())
}
