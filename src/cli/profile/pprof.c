/* SPDX-License-Identifier: MIT */
/*
 * The profile in the format of pprof: protocol buffers, of which profile.proto uses two
 * kinds of field, numbers and bytes, in a gzip file of stored blocks. Both take less code
 * here than a library dependency.
 *
 * https://github.com/google/pprof/blob/main/proto/profile.proto
 */
#include "cli/common/options.h"
#include "cli/profile/profile.h"

#include <stdlib.h>
#include <string.h>

struct bytes {
	unsigned char *bytes;
	size_t count, room;
};

static void put_bytes(struct bytes *to, const void *from, size_t count)
{
	if (to->count + count > to->room) {
		to->room = 2 * (to->count + count);
		to->bytes = realloc(to->bytes, to->room);
		if (to->bytes == NULL)
			give_up("out of memory");
	}
	if (count > 0)
		memcpy(to->bytes + to->count, from, count);
	to->count += count;
}

static void put_varint(struct bytes *to, uint64_t value)
{
	unsigned char byte;

	do {
		byte = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		put_bytes(to, &byte, 1);
		value >>= 7;
	} while (value != 0);
}

enum { WIRE_NUMBER = 0, WIRE_BYTES = 2 };

static void put_number(struct bytes *to, unsigned field, uint64_t value)
{
	put_varint(to, field << 3 | WIRE_NUMBER);
	put_varint(to, value);
}

static void put_field(struct bytes *to, unsigned field, const void *from, size_t count)
{
	put_varint(to, field << 3 | WIRE_BYTES);
	put_varint(to, count);
	put_bytes(to, from, count);
}

/* Appends a nested message, and clears it. */
static void put_message(struct bytes *to, unsigned field, struct bytes *message)
{
	put_field(to, field, message->bytes, message->count);
	message->count = 0;
}

/* Field numbers of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_DURATION = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	TYPE_TYPE = 1,
	TYPE_UNIT = 2,
	SAMPLE_LOCATIONS = 1,
	SAMPLE_VALUES = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_TEXT = 2,
	LOCATION_ID = 1,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_LINE = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
};

/* The string table; the first string is empty. */
struct strings {
	const char **texts;
	size_t count;
};

static uint64_t string(struct strings *strings, const char *text)
{
	size_t i;

	for (i = 0; i < strings->count; i++)
		if (strcmp(strings->texts[i], text) == 0)
			return i;
	strings->texts = grow(strings->texts, strings->count, sizeof(*strings->texts));
	strings->texts[strings->count++] = text;
	return strings->count - 1;
}

static void put_type(struct bytes *to, unsigned field, struct strings *strings,
		     const char *type, const char *unit)
{
	struct bytes message = {NULL, 0, 0};

	put_number(&message, TYPE_TYPE, string(strings, type));
	put_number(&message, TYPE_UNIT, string(strings, unit));
	put_message(to, field, &message);
	free(message.bytes);
}

static void put_label(struct bytes *sample, struct strings *strings, const char *key,
		      const char *text)
{
	struct bytes label = {NULL, 0, 0};

	put_number(&label, LABEL_KEY, string(strings, key));
	put_number(&label, LABEL_TEXT, string(strings, text));
	put_message(sample, SAMPLE_LABEL, &label);
	free(label.bytes);
}

static void put_sample(struct bytes *to, struct strings *strings, const struct row *row,
		       const struct pair *pair)
{
	struct bytes sample = {NULL, 0, 0}, packed = {NULL, 0, 0};
	size_t i;

	for (i = 0; i < pair->waiter.count; i++)
		put_varint(&packed, pair->waiter.frames[i]->number + 1);
	put_message(&sample, SAMPLE_LOCATIONS, &packed);
	put_varint(&packed, (uint64_t)(pair->waits + 0.5));
	put_varint(&packed, (uint64_t)(pair->wait_ns + 0.5));
	put_message(&sample, SAMPLE_VALUES, &packed);
	put_label(&sample, strings, "lock", row->name);
	if (pair->holder.count > 0)
		put_label(&sample, strings, "blocked by",
			  frame_text(pair->holder.frames[0]));
	put_message(to, PROFILE_SAMPLE, &sample);
	free(packed.bytes);
	free(sample.bytes);
}

/* A function and a location for each frame, by its number. */
static void put_frames(struct bytes *to, struct strings *strings)
{
	struct bytes message = {NULL, 0, 0}, line = {NULL, 0, 0};
	const struct frame *frame;
	size_t i;

	for (i = 0; (frame = nth_frame(i)) != NULL; i++) {
		put_number(&line, LINE_FUNCTION, i + 1);
		put_number(&line, LINE_LINE, (uint64_t)frame->line);
		put_number(&message, LOCATION_ID, i + 1);
		put_number(&message, LOCATION_ADDRESS, frame->address);
		put_message(&message, LOCATION_LINE, &line);
		put_message(to, PROFILE_LOCATION, &message);
		put_number(&message, FUNCTION_ID, i + 1);
		put_number(&message, FUNCTION_NAME, string(strings, frame->function));
		put_number(&message, FUNCTION_SYSTEM_NAME,
			   string(strings, frame->function));
		put_number(&message, FUNCTION_FILE,
			   string(strings, frame->file != NULL ? frame->file : ""));
		put_message(to, PROFILE_FUNCTION, &message);
	}
	free(message.bytes);
	free(line.bytes);
}

static uint32_t crc32(const unsigned char *bytes, size_t count)
{
	uint32_t crc = 0xffffffff;
	int bit;

	while (count-- > 0) {
		crc ^= *bytes++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (0xedb88320 & (0 - (crc & 1)));
	}
	return ~crc;
}

static void put_little(FILE *to, uint32_t value, int count)
{
	while (count-- > 0) {
		fputc((int)(value & 0xff), to);
		value >>= 8;
	}
}

/* RFC 1951 and 1952: blocks of type 0, at most 65,535 bytes each. */
static void write_gzip(FILE *to, const struct bytes *from)
{
	enum { BLOCK = 65535 };
	static const unsigned char header[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
	size_t at = 0;

	fwrite(header, 1, sizeof(header), to);
	do {
		size_t count = from->count - at < BLOCK ? from->count - at : BLOCK;

		fputc(at + count == from->count, to);
		put_little(to, (uint32_t)count, 2);
		put_little(to, ~(uint32_t)count, 2);
		fwrite(from->bytes + at, 1, count, to);
		at += count;
	} while (at < from->count);
	put_little(to, crc32(from->bytes, from->count), 4);
	put_little(to, (uint32_t)from->count, 4);
}

void write_pprof(FILE *to, const struct profile *profile)
{
	struct bytes bytes = {NULL, 0, 0};
	struct strings strings = {NULL, 0};
	size_t i, n;

	string(&strings, "");
	put_type(&bytes, PROFILE_SAMPLE_TYPE, &strings, "contentions", "count");
	put_type(&bytes, PROFILE_SAMPLE_TYPE, &strings, "delay", "nanoseconds");
	for (i = 0; i < profile->locks.count; i++)
		for (n = 0; n < profile->locks.rows[i].pair_count; n++)
			put_sample(&bytes, &strings, &profile->locks.rows[i],
				   &profile->locks.rows[i].pairs[n]);
	put_frames(&bytes, &strings);
	put_number(&bytes, PROFILE_DURATION, (uint64_t)(1e9 * profile->wall_s));
	put_type(&bytes, PROFILE_PERIOD_TYPE, &strings, "contentions", "count");
	put_number(&bytes, PROFILE_PERIOD, 1);
	for (i = 0; i < strings.count; i++)
		put_field(&bytes, PROFILE_STRING, strings.texts[i],
			  strlen(strings.texts[i]));
	write_gzip(to, &bytes);
	free(bytes.bytes);
	free(strings.texts);
}
