/* A finite value that fp16 cannot hold is refused, as Python's struct and Triton do. */
static int lg_fp16_from_double(double value, uint16_t *bits)
{
    uint64_t given = 0;
    memcpy(&given, &value, sizeof given);
    *bits = lg_round_double(value, 10, 15);
    return (*bits & 0x7fff) != 0x7c00 || (given >> 52 & 0x7ff) == 0x7ff;
}
