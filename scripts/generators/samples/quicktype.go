// Parses the contract's example request and webhook events with the structs that quicktype generated.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
)

func paid(event DisbursementCompletedEvent) string { return event.Data.Reference + string(event.Event) }

func returned(event DisbursementFailedEvent) string {
	return event.Data.Reference + string(event.Event)
}

func sold(event CheckoutCompletedEvent) string { return event.Data.Reference + string(event.Event) }

func refused(event CheckoutFailedEvent) string { return event.Data.Reference + string(event.Event) }

func abandoned(event CheckoutCancelledEvent) string {
	return event.Data.Reference + string(event.Event)
}

func parse[Event any](body []byte, handle func(Event) string) (string, error) {
	var event Event
	if err := json.Unmarshal(body, &event); err != nil {
		return "", err
	}
	return handle(event), nil
}

func handle(name EventName, body []byte) (string, error) {
	switch name {
	case EventNameDisbursementCompleted:
		return parse(body, paid)
	case EventNameDisbursementFailed:
		return parse(body, returned)
	case EventNameCheckoutCompleted:
		return parse(body, sold)
	case EventNameCheckoutFailed:
		return parse(body, refused)
	case EventNameCheckoutCancelled:
		return parse(body, abandoned)
	}
	return "", fmt.Errorf("unknown event %s", name)
}

func main() {
	text, err := os.ReadFile("examples.json")
	if err != nil {
		log.Fatal(err)
	}
	var examples struct {
		Request DisbursementRequest `json:"request"`
		Events  []json.RawMessage   `json:"events"`
		// A later version adds a status and a code.
		AddedStatus DisbursementCreatedEnvelope `json:"addedStatus"`
		AddedCode   ErrorResponse               `json:"addedCode"`
	}
	if err := json.Unmarshal(text, &examples); err != nil {
		log.Fatal(err)
	}
	if examples.Request.Amount != 1500000 || examples.Request.Reference == "" {
		log.Fatalf("the request lost a field: %+v", examples.Request)
	}
	if examples.AddedStatus.Data.Status != "reversed" || *examples.AddedCode.Code != "asleep" {
		log.Fatalf("an added value was lost: %+v, %+v", examples.AddedStatus, examples.AddedCode)
	}
	for _, body := range examples.Events {
		event, err := UnmarshalWebhookEvent(body)
		if err != nil {
			log.Fatal(err)
		}
		handled, err := handle(event.Event, body)
		if err != nil {
			log.Fatal(err)
		}
		if handled != event.Data.Reference+string(event.Event) {
			log.Fatalf("%s was parsed as %s", event.Event, handled)
		}
	}
}
