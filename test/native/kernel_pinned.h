/* CRC-32C of the bytes of vectors that version 2 of the models gives; kernel_test --pin prints them anew. */
{AME_MODEL_MULTIGRAM, AME_ROLE_DOCUMENT, "The quick brown fox jumps over the lazy dog.", 0x5da7528fu},
    {AME_MODEL_MULTIGRAM, AME_ROLE_QUERY, "How do I undo the last commit?", 0x38c2c987u},
    {AME_MODEL_MULTIGRAM, AME_ROLE_DOCUMENT, "Der Fluss Donau mündet ins Schwarze Meer. Река Дунай.", 0x771f2048u},
    {AME_MODEL_MULTIGRAM, AME_ROLE_DOCUMENT, "北京市は大きい。 parseJSON(utf8_string) 🎉 don't", 0x85023620u},
    {AME_MODEL_BIGRAM, AME_ROLE_DOCUMENT, "The quick brown fox jumps over the lazy dog.", 0xe62c2f2eu},
    {AME_MODEL_BIGRAM, AME_ROLE_QUERY, "Größe 42, façade", 0x5a5677ccu},
